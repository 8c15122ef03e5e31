"""Instruments: checking symbols, looking them up, their terms, and the bundled sample."""

import calendar
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Any, Final

from django.db import connection, transaction

from apps.core import audit
from apps.core.database import instance_of
from apps.core.errors import Code, NotFound, ServiceError
from apps.core.times import INDIA
from apps.engine.candles import InvalidSymbol, Symbol
from apps.symbols import queries
from apps.symbols.importers import bundled_sample
from apps.symbols.models import (
    CASH,
    Instrument,
    InstrumentAlias,
    InstrumentTerms,
    Source,
    Type,
)
from apps.symbols.search.tiers import search_among, suggest
from apps.symbols.terms import DatedTerms, within

__all__ = [
    "MOST_EXPIRIES",
    "MOST_SUGGESTED",
    "AlreadySwitched",
    "DatedTerms",
    "InstrumentDetails",
    "SeedCounts",
    "SymbolCheck",
    "check",
    "check_all",
    "check_with_suggestions",
    "expiries_of",
    "expiries_on",
    "indices_among",
    "next_futures",
    "read_details",
    "search",
    "seed_sample",
    "switch",
    "symbols_with_derivatives",
    "terms_from",
    "terms_on",
]

MOST_SUGGESTED: Final = 5
MOST_EXPIRIES: Final = 12
# All but the key and the operator's switch.
_FACTS: Final = [
    field.name for field in Instrument._meta.fields if field.name not in ("id", "symbol", "enabled")
]


class AlreadySwitched(ServiceError):
    """The instrument already has that state."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "{symbol} is switched {state} already."


@dataclass(frozen=True, slots=True)
class SymbolCheck:
    """The check of a symbol: its form, its type, and the reason if it cannot be traded.

    `type` is the instrument's if it is known, else the type by the form. `exchange` and `type` are
    None if they could not be read.
    """

    symbol: str
    valid: bool
    exchange: str | None
    type: str | None
    reason: str | None
    instrument: Instrument | None

    @property
    def tradable(self) -> bool:
        return self.reason is None


def check(*, symbol: str, now: datetime) -> SymbolCheck:
    return check_all(symbols=[symbol], now=now)[0]


def check_with_suggestions(*, symbol: str, now: datetime) -> tuple[SymbolCheck, list[str]]:
    """Check a symbol.

    For a malformed or unknown symbol also return tradable symbols that the caller may have meant,
    the likeliest first.
    """
    verdict, today = check(symbol=symbol, now=now), _today(now)
    if verdict.tradable or verdict.instrument is not None or len(symbol) > Symbol.MAX_LENGTH:
        return verdict, []
    among = Instrument.objects.filter(enabled=True)
    rows = suggest(among, symbol, today=today, limit=MOST_SUGGESTED)
    return verdict, [row.symbol for row in rows if row.untradable_reason(today) is None]


def check_all(*, symbols: Iterable[str], now: datetime) -> list[SymbolCheck]:
    """Check symbols, in their order, by one statement.

    The master decides. On an exchange without a loaded master (the bundled sample does not count),
    a well-formed symbol counts as tradable unless it has expired by its form. A row of the sample
    is valid until a master lists instruments of its type on its exchange.
    """
    symbol_list = list(symbols)
    with connection.cursor() as cursor:
        cursor.execute(queries.INSTRUMENT_CHECKS, [symbol_list])
        rows = {symbol: row for symbol, *row in cursor.fetchall()}
    today = _today(now)
    return [_verdict(symbol, rows[symbol], today) for symbol in symbol_list]


def _verdict(symbol: str, columns: Sequence[Any], today: date) -> SymbolCheck:
    is_unlisted, key, *_ = columns
    row = None if key is None else instance_of(Instrument, columns[1:])
    try:
        form = Symbol.parse(symbol)
    except InvalidSymbol as error:
        message = error.reason + _suggestion(symbol)
        return SymbolCheck(symbol, False, error.exchange, None, message, None)
    reason = row.untradable_reason(today) if row else _untradable_reason(form, is_unlisted, today)
    return SymbolCheck(symbol, True, form.exchange, row.type if row else form.type, reason, row)


def _untradable_reason(form: Symbol, is_unlisted: bool, today: date) -> str | None:
    """Return the reason why a symbol without an instrument cannot be traded."""
    if is_unlisted:
        return f"The instrument master of {form.exchange} does not list it."
    if (last := _last_day(form)) is not None and last < today:
        return "The contract has expired."
    return None


def _last_day(form: Symbol) -> date | None:
    """Return the last possible day of a contract by its form; the form of a monthly contract has no
    day.
    """
    if form.year is None or form.month is None:
        return None
    return date(form.year, form.month, form.day or calendar.monthrange(form.year, form.month)[1])


def _suggestion(symbol: str) -> str:
    """Return a hint with the symbol for a name as the exchange writes it: M&M is MM here."""
    exchange, _, name = symbol.partition(":")
    row = Instrument.objects.filter(exchange=exchange, exchange_name=name).first()
    return f" {name} is {row.symbol} here." if row else ""


@dataclass(frozen=True, slots=True)
class InstrumentDetails:
    """An instrument with its aliases, and the next expiries of its underlying's contracts."""

    instrument: Instrument
    check: SymbolCheck
    aliases: list[InstrumentAlias]
    next_expiries: list[date]


def read_details(*, symbol: str, now: datetime) -> InstrumentDetails:
    """Return the details of an instrument. Raises NotFound."""
    try:
        Symbol.parse(symbol)
    except InvalidSymbol:
        raise NotFound from None
    verdict = check(symbol=symbol, now=now)
    if verdict.instrument is None:
        raise NotFound
    instrument = verdict.instrument
    aliases = list(instrument.aliases.order_by("source"))
    return InstrumentDetails(instrument, verdict, aliases, _next_expiries(instrument, _today(now)))


def terms_on(*, symbol: str, first: date, last: date) -> tuple[DatedTerms, ...]:
    """Return the terms for the days `first` to `last`, oldest first, the first one dated `first`.

    The oldest known terms also apply to earlier days. Empty if the symbol is unknown.
    """
    instrument = Instrument.objects.filter(symbol=symbol).prefetch_related("terms").first()
    if instrument is None:
        return ()
    dated = sorted(instrument.terms.all(), key=lambda row: row.valid_from)
    known = [terms_from(row, row.valid_from) for row in dated]
    known = known or [terms_from(instrument, first)]
    return within(known, first=first, last=last)


def symbol_finder() -> Callable[[str, str], str | None]:
    """Return a function that looks up the symbol on an exchange by ISIN or by BSE's scrip code; it
    returns None if no master has it. It reads each list once.
    """

    @cache
    def by_isin(exchange: str) -> dict[str, str]:
        rows = Instrument.objects.filter(CASH, exchange=exchange).exclude(isin="")
        return dict(rows.values_list("isin", "symbol"))

    @cache
    def by_scrip_code() -> dict[str, str]:
        rows = InstrumentAlias.objects.filter(source=Source.BSE)
        return dict(rows.values_list("token", "instrument__symbol"))

    def find(exchange: str, code: str) -> str | None:
        codes = by_scrip_code() if code.isdigit() else by_isin(exchange)
        return codes.get(code)

    return find


def expiries_of(symbols: Iterable[str]) -> dict[str, date]:
    """Return the date of the last session, keyed by symbol, for symbols that expire."""
    rows = Instrument.objects.filter(symbol__in=list(symbols)).values_list("symbol", "expiry")
    return {symbol: expiry for symbol, expiry in rows if expiry is not None}


def expiries_on(symbol: str, *, first: date, last: date) -> set[date]:
    """Return the expiry dates of listed derivatives on the underlying of `symbol`."""
    underlying = Symbol.parse(symbol)
    rows = Instrument.objects.filter(
        exchange=underlying.exchange, underlying=underlying.root, expiry__range=(first, last)
    )
    return {expiry for expiry in rows.values_list("expiry", flat=True).distinct() if expiry}


def indices_among(symbols: Iterable[str]) -> set[str]:
    """Return the members of `symbols` that are an index or derived from one."""
    roots = {
        symbol: (Symbol.parse(symbol).exchange, Symbol.parse(symbol).root) for symbol in symbols
    }
    codes = {root for _, root in roots.values()}
    rows = Instrument.objects.filter(type=Type.INDEX, code__in=codes)
    known = set(rows.values_list("exchange", "code"))
    return {symbol for symbol, root in roots.items() if root in known}


def next_futures(symbols: Iterable[str], *, day: date) -> dict[str, str]:
    """Return the future that expires first on or after `day`, keyed by the symbol of its
    underlying, for `symbols` with futures.
    """
    underlyings = {symbol: Symbol.parse(symbol) for symbol in symbols}
    codes = [form.code for form in underlyings.values() if form.type == "equity"]
    if not codes:
        return {}
    rows = Instrument.objects.filter(
        type=Type.FUTURES, underlying__in=codes, expiry__gte=day, enabled=True
    ).order_by("-expiry", "symbol")
    first = {
        f"{exchange}:{underlying}": symbol
        for exchange, underlying, symbol in rows.values_list("exchange", "underlying", "symbol")
    }
    return {symbol: first[symbol] for symbol in underlyings if symbol in first}


def symbols_with_derivatives(symbols: Iterable[str]) -> set[str]:
    """Return the members of `symbols` with derivatives.

    On exchanges without a master of derivatives all may have them, and all are returned. It takes
    one statement for any number of symbols.
    """
    roots = {
        symbol: (Symbol.parse(symbol).exchange, Symbol.parse(symbol).root) for symbol in symbols
    }
    names = list(dict.fromkeys(roots.values()))
    with connection.cursor() as cursor:
        cursor.execute(
            queries.UNDERLYINGS_WITH_DERIVATIVES,
            [[exchange for exchange, _ in names], [root for _, root in names]],
        )
        derived = set(cursor.fetchall())
    return {symbol for symbol, root in roots.items() if root in derived}


def terms_from(row: Instrument | InstrumentTerms, valid_from: date) -> DatedTerms:
    """Return the terms of a row; an instrument has its newest terms."""
    return DatedTerms(
        valid_from=valid_from,
        lot_size=row.lot_size,
        tick_size=row.tick_size,
        multiplier=row.multiplier,
        freeze_quantity=row.freeze_quantity,
        source=row.source,
    )


def search(
    *,
    query: str,
    exchange: str | None = None,
    type: str | None = None,
    limit: int,
    now: datetime,
) -> list[Instrument]:
    """Return at most `limit` instruments that match the query, the best match first."""
    among = Instrument.objects.filter(enabled=True)
    if exchange:
        among = among.filter(exchange=exchange)
    if type:
        among = among.filter(type=type)
    return search_among(among, query=query, today=_today(now), limit=limit)


def _next_expiries(instrument: Instrument, today: date) -> list[date]:
    contracts = Instrument.objects.filter(
        exchange=instrument.exchange,
        underlying=instrument.underlying or instrument.code,
        expiry__gte=today,
        enabled=True,
    )
    days = contracts.order_by("expiry").values_list("expiry", flat=True).distinct()
    return [day for day in days[:MOST_EXPIRIES] if day is not None]


def _today(now: datetime) -> date:
    return now.astimezone(INDIA).date()


@transaction.atomic
def switch(
    *, instrument: Instrument, enabled: bool, operator: audit.Actor, reason: str, now: datetime
) -> Instrument:
    """Switch an instrument on or off, independently of the master. Raises AlreadySwitched."""
    rows = Instrument.objects.filter(pk=instrument.pk, enabled=not enabled)
    if not rows.update(enabled=enabled):
        raise AlreadySwitched(symbol=instrument.symbol, state="on" if enabled else "off")
    action = audit.Action.INSTRUMENT_ENABLED if enabled else audit.Action.INSTRUMENT_DISABLED
    audit.record(
        action, instrument, actor=operator, now=now, symbol=instrument.symbol, reason=reason
    )
    instrument.enabled = enabled
    return instrument


@dataclass(frozen=True, slots=True)
class SeedCounts:
    """The numbers of new, changed and unchanged instruments of the sample."""

    added: int
    changed: int
    unchanged: int


@transaction.atomic
def seed_sample() -> SeedCounts:
    """Import the bundled sample. Instruments that a master has described since stay unchanged."""
    rows = bundled_sample.sample_instruments()
    stored = Instrument.objects.in_bulk([row.symbol for row in rows], field_name="symbol")
    added = [row for row in rows if row.symbol not in stored]
    changed = [row for row in rows if row.symbol in stored and _differs(row, stored[row.symbol])]
    for row in changed:
        row.pk = stored[row.symbol].pk
    Instrument.objects.bulk_create(added, ignore_conflicts=True)
    Instrument.objects.bulk_update(changed, _FACTS)
    return SeedCounts(len(added), len(changed), len(rows) - len(added) - len(changed))


def _differs(row: Instrument, stored: Instrument) -> bool:
    return stored.sample and any(getattr(row, name) != getattr(stored, name) for name in _FACTS)
