"""Search instruments by a code, a name, an ISIN, an alias at an exchange or a broker, or the words
that describe a contract ("NIFTY 24350 CE"); suggest similar symbols for unknown ones.

Better matches come first, in tiers: exact matches; codes with the prefix, names with the prefix;
described contracts, aliases at a broker; contracts of the underlying, the next to expire first, and
contracts with the prefix; from three letters on substrings; then, unless they match exactly,
delisted and expired instruments; and if there is no match, similar codes. In a tier NSE comes
before BSE. `%` and `_` are literal.

With PostgreSQL's pg_trgm an index finds substrings, and trigrams find similar codes. Without it a
similar code has one letter too many, missing, other or swapped.
"""

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import lru_cache, reduce
from operator import or_
from string import ascii_uppercase, digits
from typing import Final

from django.contrib.postgres.lookups import TrigramSimilar
from django.contrib.postgres.search import TrigramSimilarity
from django.db import connection
from django.db.models import DecimalField, F, OrderBy, Q, QuerySet, Value
from django.db.models.functions import Abs

from apps.engine.candles import InvalidSymbol, Symbol
from apps.symbols import queries
from apps.symbols.models import CASH, DERIVATIVE, Instrument, InstrumentAlias, Type
from apps.symbols.search.contract_query import ContractQuery, DaySpan, read_contract

SHORTEST_WITHIN: Final = 3
_MOST_WITHIN: Final = 200  # thousands of names hold LTD: to sort them all is not worth it
_SHORTEST_LIKE: Final = 4
_LONGEST_LIKE: Final = 20
_LETTERS: Final = ascii_uppercase + digits
# Exchanges write these characters in names, but a code cannot hold them: M&M is MM, BAJAJ-AUTO is
# BAJAJAUTO.
_LEFT_OUT: Final = str.maketrans("", "", "&- ")

# The condition of a tier, and its order.
Tier = tuple[Q, tuple[str | OrderBy, ...]]

# By descending names: NSE, NCDEX, MCX, BSE.
_BY_CODE: Final = ("code", "-exchange")
_LISTED_FIRST: Final = F("valid_to").desc(nulls_first=True)
_LIVING_FIRST: Final = F("expiry").desc(nulls_first=True)
_NEXT_FIRST: Final = ("expiry", "code", "-exchange")
_BY_EXPIRY: Final = ("expiry", "strike", "option_type", "-exchange")
_LATEST_FIRST: Final = ("-expiry", "strike", "option_type", "-exchange")
# Contracts that expired longer ago are found when their month is said.
_RECENT: Final = timedelta(days=366)


def search_among(
    among: QuerySet[Instrument], *, query: str, today: date, limit: int
) -> list[Instrument]:
    """Return at most `limit` of `among`, the best first; contracts that expired before `today` come
    late.
    """
    text = query.strip().upper()
    matches: list[Instrument] = []
    for condition, order in _tiers(among, text, today):
        remaining = among.filter(condition).exclude(pk__in=[row.pk for row in matches])
        matches += remaining.order_by(*order)[: limit - len(matches)]
        if len(matches) == limit:
            break
    return matches or _similar(among, text, limit)


def _tiers(among: QuerySet[Instrument], text: str, today: date) -> Iterator[Tier]:
    code = text.translate(_LEFT_OUT)
    column = "symbol" if ":" in text else "code"
    listed = Q(valid_to=None) | Q(valid_to__gte=today)
    lives = DERIVATIVE & listed & (Q(expiry__gte=today) | Q(expiry=None))
    exact = Q((column, code)) | Q(isin=text) | Q(exchange_name__iexact=text)
    named = Q(name__istartswith=text) | Q(exchange_name__istartswith=text)
    begins = Q((f"{column}__startswith", code)) if code else Q(pk__in=[])
    described = read_contract(text, today=today)
    yield CASH & exact, (_LISTED_FIRST, *_BY_CODE)
    if code:
        yield CASH & listed & begins, _BY_CODE
    yield CASH & listed & named, _BY_CODE
    if described:
        yield from _described(described, today)
    if len(text) >= SHORTEST_WITHIN:
        yield Q(pk__in=_with_alias(text)), (_LIVING_FIRST, *_BY_CODE)
    if code:
        yield lives & Q(underlying=code), _NEXT_FIRST
        yield lives & begins, _BY_CODE
    if len(text) >= SHORTEST_WITHIN:
        within = _lasting() & listed & (Q(name__icontains=text) | Q(code__contains=text))
        yield Q(pk__in=among.filter(within).order_by().values("pk")[:_MOST_WITHIN]), _BY_CODE
        yield CASH & Q(valid_to__lt=today) & (begins | named), _BY_CODE
        yield DERIVATIVE & begins & Q(expiry__lt=today), _BY_CODE


def _described(contract: ContractQuery, today: date) -> Iterator[Tier]:
    """Return the tiers of live contracts by each reading of the date, then of expired ones."""
    described = DERIVATIVE & Q(underlying__in=_underlyings(contract.root))
    if contract.exchange:
        described &= Q(exchange=contract.exchange)
    if contract.is_future:
        described &= Q(type=Type.FUTURES)
    if contract.option_type:
        described &= Q(option_type=contract.option_type)
    if contract.strike is not None:
        described &= Q(strike=contract.strike)
    readings = [_on_one_of(days) for days in contract.expiries] or [Q()]
    for reading in readings:
        yield described & reading & Q(expiry__gte=today), _BY_EXPIRY
    past = reduce(or_, readings) if contract.expiries else Q(expiry__gte=today - _RECENT)
    yield described & past & Q(expiry__lt=today), _LATEST_FIRST


def _on_one_of(spans: Iterable[DaySpan]) -> Q:
    return reduce(or_, (Q(expiry__range=span) for span in spans))


def _underlyings(root: str) -> list[str]:
    """Return codes for a name: BANK NIFTY and NIFTY BANK (the index) are BANKNIFTY."""
    codes = [root.translate(_LEFT_OUT)]
    if " " in root:
        indices = Instrument.objects.filter(CASH, exchange_name__iexact=root)
        codes += indices.values_list("code", flat=True)
    return codes


def _with_alias(text: str) -> QuerySet[InstrumentAlias, int]:
    """Return the instruments with this alias at a broker: RELIANCE-EQ, NIFTY2681824350CE."""
    return InstrumentAlias.objects.filter(name=text).values_list("instrument_id", flat=True)


def _similar(among: QuerySet[Instrument], text: str, limit: int) -> list[Instrument]:
    """Return shares and indices with a similar code."""
    exchange, _, name = text.rpartition(":")
    code = name.translate(_LEFT_OUT)
    if not code.isalnum() or not _SHORTEST_LIKE <= len(code) <= _LONGEST_LIKE:
        return []
    rows = among.filter(_lasting())
    if exchange:
        rows = rows.filter(exchange=exchange)
    if not _has_trigrams():
        return list(
            rows.filter(code__in=_misspellings(code)).order_by(_LISTED_FIRST, *_BY_CODE)[:limit]
        )
    alike = rows.filter(TrigramSimilar(F("code"), Value(code)))
    likeness = TrigramSimilarity("code", code)
    return list(alike.order_by(likeness.desc(), _LISTED_FIRST, *_BY_CODE)[:limit])


def _lasting() -> Q:
    """Return the condition for instruments other than contracts, written as in the index: otherwise
    the planner would choose another index than the trigram index.
    """
    return Q(expiry=None) if _has_trigrams() else CASH


def _misspellings(code: str) -> set[str]:
    """Return every text that is one edit away: a letter more, less or changed, or two neighbours
    swapped.
    """
    cuts = [(code[:at], code[at:]) for at in range(len(code) + 1)]
    missing = {left + right[1:] for left, right in cuts if right}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1}
    other = {left + letter + right[1:] for left, right in cuts if right for letter in _LETTERS}
    added = {left + letter + right for left, right in cuts for letter in _LETTERS}
    return missing | swapped | other | added


@lru_cache(maxsize=1)
def _has_trigrams() -> bool:
    """Return whether the trigram index exists.

    A migration creates it if the extension is available.
    """
    with connection.cursor() as cursor:
        cursor.execute(queries.HAS_INDEX_OF_PARTS)
        return bool(cursor.fetchone()[0])


# Brokers' names of segments, by the exchange that they belong to.
_SEGMENTS_OF: Final = {
    "NFO": "NSE",
    "CDS": "NSE",
    "BFO": "BSE",
    "BCD": "BSE",
    "NSEFO": "NSE",
    "BSEFO": "BSE",
}


def suggest(
    among: QuerySet[Instrument], symbol: str, *, today: date, limit: int
) -> list[Instrument]:
    """Return likely corrections of a malformed or unknown symbol: for an option the nearest
    strikes, else the results of a search for its code, on its own exchange first.
    """
    strikes = _nearest_strikes(among, symbol, today, limit)
    if strikes:
        return strikes
    exchange, _, name = symbol.upper().strip().rpartition(":")
    if not name:
        return []
    exchange = _SEGMENTS_OF.get(exchange, exchange)
    scopes = [among.filter(exchange=exchange), among] if exchange in Symbol.EXCHANGES else [among]
    results = (search_among(scope, query=name, today=today, limit=limit) for scope in scopes)
    return next(filter(None, results), [])


def _nearest_strikes(
    among: QuerySet[Instrument], symbol: str, today: date, limit: int
) -> list[Instrument]:
    try:
        form = Symbol.parse(symbol)
    except InvalidSymbol:
        return []
    if form.strike is None:
        return []
    rows = among.filter(
        exchange=form.exchange,
        underlying=form.root,
        option_type=form.option_type or "",
        expiry__gte=today,
        expiry__year=form.year,
        expiry__month=form.month,
    )
    distance = Abs(F("strike") - Value(form.strike, output_field=DecimalField()))
    return list(rows.order_by(distance, "expiry", "code")[:limit])
