"""Files of corporate actions in two formats: our own (symbol, ex_date, kind, ratio, source and, if
needed, amount, issue_price and factor), and the exchange's list with subjects (symbol, ex_date,
subject).

A ratio is written as announced: a bonus of 1:2 gives one new share for two old ones, rights of 1:15
let a holder of 15 buy one, a split of 5:1 makes five shares of one. Subjects describe a split by
the face value before and after, and a dividend by rupees a share. A subject may contain several
events; an unreadable event becomes a warning.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Final

from apps.market.candles.corporate_actions import ActionRow, DividendRow
from apps.market.importers.bar_columns import InstrumentName
from apps.market.importers.instrument_names import name_instrument
from apps.market.importers.tables.content import BadCandleFile, contents_of
from apps.market.importers.tables.times import day_from
from apps.market.models import MOST_SHARES

_KINDS: Final = ("split", "bonus", "rights", "demerger", "dividend")
_RATIO: Final = re.compile(r"([0-9]{1,5})\s*:\s*([0-9]{1,5})")
_RUPEES_EACH: Final = r"(?:rs|re|inr)\.?\s*([0-9]{1,6}(?:\.[0-9]{1,4})?)"
_FACE_VALUE: Final = re.compile(rf"{_RUPEES_EACH}.{{0,40}}?\bto\s*{_RUPEES_EACH}", re.I)
_PREMIUM: Final = re.compile(rf"prem[^0-9]{{0,20}}?{_RUPEES_EACH}", re.I)
_ISSUE_PRICE: Final = re.compile(rf"@\s*{_RUPEES_EACH}", re.I)
_RUPEES_WRITTEN: Final = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,4})?")
_FACTOR: Final = re.compile(r"0?\.[0-9]{1,10}")
# Separators of events in a subject; the stroke of "Rs 10/-" is not one.
_BETWEEN_EVENTS: Final = re.compile(r"/(?!-)|[;&+]")
_EVENTS: Final = (
    ("bonus", re.compile("bonus", re.I)),
    ("split", re.compile(r"spli?t|\bspl\b|sub-? ?division|consolidation", re.I)),
    ("rights", re.compile(r"\brights?\b", re.I)),
    ("demerger", re.compile("de-?merger|spin-? ?off|hive-? ?off", re.I)),
)
# Distributions to holders that are not shares of the same kind.
_NO_SHARES: Final = re.compile("debenture|preference|ncrps|ccps|nc[dr]|warrant|bonds?\\b", re.I)
# The rupees of each dividend that a subject names, such as an interim and a special one.
_RUPEES: Final = re.compile(
    r"dividend[^/&+;]{0,60}?\br[es]\.?\s*([0-9]{1,6}(?:\.[0-9]{1,4})?)", re.I
)
_SUBJECTS: Final = ("subject", "purpose")
_EX_DATES: Final = ("ex_date", "exdate", "ex-date")
_SHOWN: Final = 10
# Of a subject: the patterns that read one try many ways over a long text.
_LONGEST_SUBJECT: Final = 500


@dataclass(frozen=True, slots=True)
class ActionFile:
    """A file's corporate actions, and its dividends; `skipped` counts rows that are neither, by the
    beginning of their subject. `unread` are the places of unreadable events.
    """

    rows: tuple[ActionRow, ...]
    dividends: tuple[DividendRow, ...]
    skipped: Mapping[str, int]
    unread: tuple[str, ...] = ()


class _InvalidRow(Exception):
    """A row that is not a corporate action; the message gives the reason."""


def read_actions(path: Path) -> ActionFile:
    """Read the corporate actions of the files at a path.

    Raises BadCandleFile with the first bad rows and their lines.
    """
    rows: list[ActionRow] = []
    dividends: list[DividendRow] = []
    skipped: Counter[str] = Counter()
    unread: list[str] = []
    faults: list[str] = []
    for content in contents_of(path):
        reader = csv.DictReader(io.StringIO(_text(content.shown, content.data)))
        names = {name.strip().lower(): name for name in reader.fieldnames or ()}
        _check_columns(content.shown, names)
        for cells in reader:
            values = {key: (cells.get(name) or "").strip() for key, name in names.items()}
            try:
                actions, puzzles = _actions(values, content.shown)
                dividend = _dividend(values, content.shown)
            except _InvalidRow as error:
                faults.append(f"line {reader.line_num}: {error}")
                continue
            rows += actions
            unread += [f"{content.shown}, line {reader.line_num}: {text!r}" for text in puzzles]
            if dividend is not None:
                dividends.append(dividend)
            if not actions and not puzzles and dividend is None:
                skipped[re.split(r"[-:0-9]", _first(values, _SUBJECTS))[0].strip()] += 1
        if faults:
            more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
            raise BadCandleFile(file=content.shown, reason="; ".join(faults[:_SHOWN]) + more)
    if not rows and not dividends and not skipped and not unread:
        raise BadCandleFile(file=path.name, reason="is empty of rows")
    return ActionFile(tuple(rows), tuple(dividends), dict(skipped), tuple(unread))


def _text(shown: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadCandleFile(file=shown, reason="is no text in UTF-8") from error


def _check_columns(shown: str, names: Mapping[str, str]) -> None:
    is_own_format = {"kind", "ratio"} <= names.keys()
    listed = any(name in names for name in _SUBJECTS)
    if "symbol" in names and any(name in names for name in _EX_DATES) and (is_own_format or listed):
        return
    reason = (
        f"its columns are {', '.join(names) or 'none'}; wanted are symbol, ex_date, kind, ratio"
        " and source, or the exchange's symbol, ex_date and subject"
    )
    raise BadCandleFile(file=shown, reason=reason)


@dataclass(frozen=True, slots=True)
class _Event:
    """An event of a row, with the shares after it for each share before."""

    kind: str
    ratio: Fraction
    issue_price: Decimal | None = None
    price_factor: Decimal | None = None


def _actions(values: Mapping[str, str], shown: str) -> tuple[list[ActionRow], list[str]]:
    """Return the corporate actions of a row, and the unreadable events."""
    if "kind" in values:
        events, puzzles = _announced(values), list[str]()
    else:
        events, puzzles = _of_subject(values)
    return [_row(event, values, shown) for event in events], puzzles


def _row(event: _Event, values: Mapping[str, str], shown: str) -> ActionRow:
    kind, ratio = event.kind, event.ratio
    is_none = ratio == 1 and kind != "demerger"
    if not 0 < ratio.numerator <= MOST_SHARES or ratio.denominator > MOST_SHARES or is_none:
        raise _InvalidRow(f"a {kind} of {ratio.numerator} shares for {ratio.denominator} is none")
    return ActionRow(
        _symbol(values["symbol"]),
        _ex_date(values),
        kind,
        ratio.denominator,
        ratio.numerator,
        (values.get("source") or shown)[:200],
        event.issue_price,
        event.price_factor,
    )


def _ex_date(values: Mapping[str, str]) -> date:
    written = _first(values, _EX_DATES)
    day = day_from(written)
    if day is None:
        raise _InvalidRow(f"ex_date {written!r} is no date")
    return day


def _dividend(values: Mapping[str, str], shown: str) -> DividendRow | None:
    """Return the dividend, None if the row has none."""
    if "kind" not in values:
        subject = _first(values, _SUBJECTS)
        amount = sum(map(Decimal, _RUPEES.findall(subject)), Decimal(0))
    elif values["kind"].lower() == "dividend":
        amount = _rupees(values, "amount") or Decimal(0)
        if not amount:
            raise _InvalidRow("amount '' is none such as 2.50")
    else:
        return None
    if not amount:
        return None
    symbol, source = _symbol(values["symbol"]), values.get("source") or shown
    return DividendRow(symbol, _ex_date(values), amount, source[:200])


def _announced(values: Mapping[str, str]) -> list[_Event]:
    kind, ratio = values["kind"].lower(), _RATIO.fullmatch(values["ratio"])
    if kind not in _KINDS:
        raise _InvalidRow(f"kind {values['kind']!r} is none of {', '.join(_KINDS)}")
    if kind == "dividend":
        return []
    if kind == "demerger":
        return [_Event(kind, Fraction(1), price_factor=_price_factor(values.get("factor", "")))]
    if ratio is None or int(ratio[2]) == 0:
        raise _InvalidRow(f"ratio {values['ratio']!r} is none such as 2:1")
    issue_price = _rupees(values, "issue_price") if kind == "rights" else None
    return [_Event(kind, _shares(kind, int(ratio[1]), int(ratio[2])), issue_price)]


def _price_factor(written: str) -> Decimal | None:
    if not written:
        return None
    if _FACTOR.fullmatch(written) is None or not Decimal(written):
        raise _InvalidRow(f"factor {written!r} is none such as 0.915")
    return Decimal(written)


def _rupees(values: Mapping[str, str], name: str) -> Decimal | None:
    """Return the rupees of a column that may be missing or empty."""
    written = values.get(name, "")
    if not written:
        return None
    if _RUPEES_WRITTEN.fullmatch(written) is None or not Decimal(written):
        raise _InvalidRow(f"{name} {written!r} is none such as 2.50")
    return Decimal(written)


def _shares(kind: str, new_shares: int, old_shares: int) -> Fraction:
    """Return the shares after for each share before."""
    return Fraction(new_shares if kind == "split" else new_shares + old_shares, old_shares)


def _of_subject(values: Mapping[str, str]) -> tuple[list[_Event], list[str]]:
    """Return the events of a subject, with one kind joined, and the parts that name an unreadable
    event.
    """
    subject = _first(values, _SUBJECTS)
    if len(subject) > _LONGEST_SUBJECT:
        raise _InvalidRow(f"its subject has more than {_LONGEST_SUBJECT} characters")
    events: dict[str, _Event] = {}
    puzzles = []
    for part in _BETWEEN_EVENTS.split(subject):
        kind = next((kind for kind, name in _EVENTS if name.search(part)), None)
        if kind is None or _NO_SHARES.search(part):
            continue
        event = _event(kind, part, values.get("face_value") or values.get("face value", ""))
        if event is None:
            puzzles.append(part.strip())
        elif kind in events:
            events[kind] = replace(event, ratio=events[kind].ratio * event.ratio)
        else:
            events[kind] = event
    return list(events.values()), puzzles


def _event(kind: str, part: str, face_value: str) -> _Event | None:
    """Return an event from the exchange's words, None for unreadable words."""
    if kind == "demerger":
        return _Event(kind, Fraction(1))
    if kind == "split":
        values = _FACE_VALUE.search(part)
        before, after = map(Decimal, values.groups()) if values else (Decimal(0), Decimal(0))
        return _Event(kind, Fraction(before) / Fraction(after)) if before and after else None
    ratio = _RATIO.search(part)
    if ratio is None or not int(ratio[1]) or not int(ratio[2]):
        return None
    shares = _shares(kind, int(ratio[1]), int(ratio[2]))
    return _Event(kind, shares, _issue_price(part, face_value) if kind == "rights" else None)


def _issue_price(part: str, face_value: str) -> Decimal | None:
    """Return the price of a new share: as stated, or its premium above the face value."""
    premium = _PREMIUM.search(part)
    if premium is not None and _RUPEES_WRITTEN.fullmatch(face_value):
        return Decimal(premium[1]) + Decimal(face_value)
    price = None if premium else _ISSUE_PRICE.search(part)
    return Decimal(price[1]) if price else None


def _symbol(name: str) -> str:
    named = name_instrument(name)
    if not isinstance(named, InstrumentName) or named.symbol is None:
        raise _InvalidRow(f"{name!r} is no symbol")
    return named.symbol


def _first(values: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((values[name] for name in names if name in values), "")
