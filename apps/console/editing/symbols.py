"""Fields of symbols: the stored candles of the typed ones, and instruments to choose from."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from django.http import HttpRequest, HttpResponse

from apps.accounts.models import User
from apps.console.gate import console_page, show
from apps.core.times import INDIA
from apps.engine.candles import InvalidSymbol, Symbol
from apps.market.candles import stored_series, stored_timeframes_of
from apps.symbols import services as symbols

_MOST_OFFERED: Final = 8
_MOST_SERIES: Final = 2_000
_MOST_PARTS: Final = 50
_LONGEST: Final = 60  # of a searched text
_SEPARATORS: Final = r"[\s,;]+"


@dataclass(frozen=True, slots=True)
class SymbolChoice:
    """A symbol of the field, or one to put in the place of `text`."""

    symbol: str
    stored: tuple[str, ...]
    is_chosen: bool = False
    text: str = ""

    @property
    def change(self) -> str:
        """The value of the button: remove the symbol, or put it in the place of the text."""
        return f"{self.symbol}>" if self.is_chosen else f"{self.text}>{self.symbol}"


@console_page()
def symbol_choices_page(request: HttpRequest, user: User) -> HttpResponse:
    """Show the choices for the text of a field while it is typed."""
    path = request.GET.get("field", "")
    return show(request, "parts/symbol_choices", {"path": path, "text": request.GET.get(path, "")})


def symbol_choices(text: str, *, now: datetime) -> list[SymbolChoice]:
    """Return the symbols of a text and, for each part that is unknown, instruments like it; for an
    empty text some symbols with candles.
    """
    offered: list[tuple[str, str]] = []  # the text to replace, and a symbol in its place
    chosen: list[str] = []
    parts = list(dict.fromkeys(islice(_parts(text.upper()), _MOST_PARTS)))
    checks = symbols.check_all(symbols=parts, now=now)
    stored = stored_timeframes_of(parts)
    for part, check in zip(parts, checks, strict=True):
        if check.valid:
            chosen.append(part)
        if check.instrument is None and not stored[part]:
            offered += [(part, symbol) for symbol in _similar(part, now)]
    if not text.strip():
        offered = [("", symbol) for symbol in _with_candles("")]
    stored = {**stored, **stored_timeframes_of([symbol for _, symbol in offered])}
    offered.sort(key=lambda offer: not stored[offer[1]])
    rows = [("", symbol, True) for symbol in chosen]
    rows += [(part, symbol, False) for part, symbol in offered if symbol not in chosen]
    return [
        SymbolChoice(symbol, tuple(map(_describe, stored[symbol])), is_chosen, part)
        for part, symbol, is_chosen in rows
    ]


def replace_symbol(form: Mapping[str, str], change: str) -> dict[str, str]:
    """Return the form after a change `symbol:PATH=OLD>NEW`: the new symbol is in the place of the
    old text or, in a list without it, at the end.
    """
    path, _, pair = change.removeprefix("symbol:").partition("=")
    old, _, new = pair.rpartition(">")
    if not path.endswith("symbols"):
        return {**form, path: new}
    words = [word for word in re.split(_SEPARATORS, form.get(path, "").upper()) if word]
    removed = re.split(_SEPARATORS, old.upper())
    index = next((n for n, word in enumerate(words) if word in removed), len(words))
    before, after = (
        [w for w in part if w not in removed] for part in (words[:index], words[index:])
    )
    return {**form, path: ", ".join(filter(None, (*before, new, *after)))}


def _parts(text: str) -> Iterator[str]:
    """Yield each symbol, and the words between commas that are none, together."""
    for part in re.split(r"[,;]", text):
        words = part.split()
        yield from filter(_is_symbol, words)
        if words := [word for word in words if not _is_symbol(word)]:
            yield " ".join(words)[:_LONGEST]


def _is_symbol(text: str) -> bool:
    try:
        Symbol.parse(text)
    except InvalidSymbol:
        return False
    return True


def _similar(text: str, now: datetime) -> list[str]:
    """Return symbols with candles, then listed instruments."""
    listed = symbols.search(query=text, limit=_MOST_OFFERED, now=now)
    names = (*_with_candles(text), *(row.symbol for row in listed))
    return list(dict.fromkeys(names))[:_MOST_OFFERED]


def _with_candles(text: str) -> list[str]:
    """Return symbols with candles, those in most timeframes first."""
    series = Counter(symbol for symbol, _ in stored_series(query=text)[:_MOST_SERIES])
    return sorted(series, key=lambda symbol: (-series[symbol], symbol))[:_MOST_OFFERED]


def _describe(row: Mapping[str, object]) -> str:
    """Describe stored candles, as "5m, 8 Apr 2026 to 30 Jun 2026, 4,200 candles"."""
    text = f"{row['timeframe']}, {_day(row['first'])} to {_day(row['last'])}"
    return f"{text}, {row['bars']:,} {'made-up ' if row.get('synthetic') else ''}candles"


def _day(moment: object) -> str:
    day = datetime.fromisoformat(str(moment)).astimezone(INDIA)
    return f"{day.day} {day:%b %Y}"
