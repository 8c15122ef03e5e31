"""What can be named, what of it can be traded, and the bundled sample."""

import calendar
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final
from zoneinfo import ZoneInfo

from django.db import connection, transaction

from apps.core import audit
from apps.core.errors import Code, NotFound, ServiceError
from apps.engine.symbols import MAX_LENGTH, InvalidSymbol, Symbol, parse
from apps.symbols import sample
from apps.symbols.models import (
    Instrument,
    InstrumentAlias,
    InstrumentTerms,
    MasterLoad,
    Segment,
    Type,
)
from apps.symbols.search import search as search_among
from apps.symbols.search import suggest
from apps.symbols.terms import DatedTerms, within

INDIA: Final = ZoneInfo("Asia/Kolkata")
MOST_SUGGESTED: Final = 5
MOST_EXPIRIES: Final = 12
# All but the key and the operator's switch.
_FACTS: Final = [
    field.name for field in Instrument._meta.fields if field.name not in ("id", "symbol", "enabled")
]

# One contract is looked for, each in the index of contracts by what they are derived from: of some
# thousand that an index has, no second is read.
_DERIVED: Final = f"""
    SELECT exchange, root FROM unnest(%s::text[], %s::text[]) AS asked (exchange, root)
    WHERE NOT EXISTS (
        SELECT FROM {MasterLoad._meta.db_table}
        WHERE exchange = asked.exchange AND segment = '{Segment.DERIVATIVES}'
    ) OR (
        SELECT true FROM {Instrument._meta.db_table}
        WHERE underlying = asked.root AND exchange = asked.exchange
            AND segment = '{Segment.DERIVATIVES}' AND NOT type IN ('{Type.EQUITY}', '{Type.INDEX}')
        LIMIT 1
    )
"""


class AlreadySwitched(ServiceError):
    """The instrument is as it should become."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "{symbol} is switched {state} already."


@dataclass(frozen=True, slots=True)
class SymbolCheck:
    """What is known of a symbol: its form, its type, and why it cannot be traded, if it cannot.

    `type` is the instrument's when it is known, else what the form says; `exchange` and `type` are
    None where they could not be read.
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
    """A verdict, and of what is malformed or unknown the symbols that may have been meant: such as
    can be traded, the likeliest first.
    """
    verdict, today = check(symbol=symbol, now=now), _today(now)
    if verdict.tradable or verdict.instrument is not None or len(symbol) > MAX_LENGTH:
        return verdict, []
    among = Instrument.objects.filter(enabled=True)
    rows = suggest(among, symbol, today=today, limit=MOST_SUGGESTED)
    return verdict, [row.symbol for row in rows if row.obstacle(today) is None]


def check_all(*, symbols: Iterable[str], now: datetime) -> list[SymbolCheck]:
    """A verdict on each, in their order.

    The master decides; for an exchange of which none has been loaded (the bundled sample is none),
    whatever is well formed and has not expired by its form counts as tradable. A row of the sample
    holds until a master lists instruments of its type on its exchange.
    """
    wanted = list(symbols)
    rows = Instrument.objects.filter(symbol__in=wanted)
    listed = Instrument.objects.filter(sample=False)
    replaced = {
        (exchange, type)
        for exchange, type in {(row.exchange, row.type) for row in rows if row.sample}
        if listed.filter(exchange=exchange, type=type).exists()
    }
    known = {
        row.symbol: row for row in rows if not (row.sample and (row.exchange, row.type) in replaced)
    }
    exchanges = {symbol.partition(":")[0] for symbol in wanted}
    mastered = {exchange for exchange in exchanges if listed.filter(exchange=exchange).exists()}
    today = _today(now)
    return [_verdict(symbol, known.get(symbol), mastered, today) for symbol in wanted]


def _verdict(symbol: str, row: Instrument | None, mastered: set[str], today: date) -> SymbolCheck:
    try:
        form = parse(symbol)
    except InvalidSymbol as error:
        reason = error.reason + _suggestion(symbol)
        return SymbolCheck(symbol, False, error.exchange, None, reason, None)
    obstacle = row.obstacle(today) if row else _obstacle(form, mastered, today)
    return SymbolCheck(symbol, True, form.exchange, row.type if row else form.type, obstacle, row)


def _obstacle(form: Symbol, mastered: set[str], today: date) -> str | None:
    """Why a symbol that no row describes cannot be traded."""
    if form.exchange in mastered:
        return f"The instrument master of {form.exchange} does not list it."
    if (last := _last_day(form)) is not None and last < today:
        return "The contract has expired."
    return None


def _last_day(form: Symbol) -> date | None:
    """The last day on which a contract can live by its form: a monthly one's day is not in it."""
    if form.year is None or form.month is None:
        return None
    return date(form.year, form.month, form.day or calendar.monthrange(form.year, form.month)[1])


def _suggestion(symbol: str) -> str:
    """The symbol of what the exchange writes so: M&M is known here as MM."""
    exchange, _, name = symbol.partition(":")
    row = Instrument.objects.filter(exchange=exchange, exchange_name=name).first()
    return f" {name} is {row.symbol} here." if row else ""


@dataclass(frozen=True, slots=True)
class InstrumentDetails:
    """All that is known of an instrument: what others call it, and the next expiries of contracts
    of it or of what it is derived from.
    """

    instrument: Instrument
    verdict: SymbolCheck
    aliases: list[InstrumentAlias]
    next_expiries: list[date]


def read_details(*, symbol: str, now: datetime) -> InstrumentDetails:
    """Raises NotFound."""
    try:
        parse(symbol)
    except InvalidSymbol:
        raise NotFound from None
    verdict = check(symbol=symbol, now=now)
    if verdict.instrument is None:
        raise NotFound
    instrument = verdict.instrument
    aliases = list(instrument.aliases.order_by("source"))
    return InstrumentDetails(instrument, verdict, aliases, _next_expiries(instrument, _today(now)))


def terms_on(*, symbol: str, first: date, last: date) -> tuple[DatedTerms, ...]:
    """The terms of the days `first` to `last`, oldest first, the first of them dated `first`.

    Where no older ones are known, the oldest known hold for the days before them too. Empty if the
    symbol is unknown.
    """
    instrument = Instrument.objects.filter(symbol=symbol).prefetch_related("terms").first()
    if instrument is None:
        return ()
    dated = sorted(instrument.terms.all(), key=lambda row: row.valid_from)
    known = [terms_from(row, row.valid_from) for row in dated]
    known = known or [terms_from(instrument, first)]
    return within(known, first=first, last=last)


def expiries_of(symbols: Iterable[str]) -> dict[str, date]:
    """Of those that expire, the date of the last session."""
    rows = Instrument.objects.filter(symbol__in=list(symbols)).values_list("symbol", "expiry")
    return {symbol: expiry for symbol, expiry in rows if expiry is not None}


def indices_among(symbols: Iterable[str]) -> set[str]:
    """Those of `symbols` that are an index or derived from one."""
    roots = {symbol: (parse(symbol).exchange, parse(symbol).root) for symbol in symbols}
    codes = {root for _, root in roots.values()}
    rows = Instrument.objects.filter(type=Type.INDEX, code__in=codes)
    known = set(rows.values_list("exchange", "code"))
    return {symbol for symbol, root in roots.items() if root in known}


def next_futures(symbols: Iterable[str], *, day: date) -> dict[str, str]:
    """Return by each of `symbols`, where there is one, the future on it that expires first on or
    after `day`.
    """
    underlyings = {symbol: parse(symbol) for symbol in symbols}
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
    """Those of `symbols` that have derivatives, and those of exchanges without a master of them,
    which cannot be told; however many there are, by one statement.
    """
    roots = {symbol: (parse(symbol).exchange, parse(symbol).root) for symbol in symbols}
    asked = list(dict.fromkeys(roots.values()))
    with connection.cursor() as cursor:
        cursor.execute(_DERIVED, [[exchange for exchange, _ in asked], [root for _, root in asked]])
        derived = set(cursor.fetchall())
    return {symbol for symbol, root in roots.items() if root in derived}


def terms_from(row: Instrument | InstrumentTerms, valid_from: date) -> DatedTerms:
    """Read the terms of a row; those of an instrument are its newest."""
    return DatedTerms(
        valid_from=valid_from,
        lot_size=row.lot_size,
        tick_size=row.tick_size,
        multiplier=row.multiplier,
        freeze_quantity=row.freeze_quantity,
        source=row.source,
    )


def search(
    *, query: str, exchange: str | None, type: str | None, limit: int, now: datetime
) -> list[Instrument]:
    """At most `limit` instruments that match what was typed, the best match first."""
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
    """Let it be traded, or not, whatever the master says. Raises AlreadySwitched."""
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
    added: int
    changed: int
    unchanged: int


@transaction.atomic
def seed_sample() -> SeedCounts:
    """Bring the bundled sample in; what a master has described since is left alone."""
    rows = sample.instruments()
    held = Instrument.objects.in_bulk([row.symbol for row in rows], field_name="symbol")
    added = [row for row in rows if row.symbol not in held]
    changed = [row for row in rows if row.symbol in held and _differs(row, held[row.symbol])]
    for row in changed:
        row.pk = held[row.symbol].pk
    Instrument.objects.bulk_create(added, ignore_conflicts=True)
    Instrument.objects.bulk_update(changed, _FACTS)
    return SeedCounts(len(added), len(changed), len(rows) - len(added) - len(changed))


def _differs(row: Instrument, held: Instrument) -> bool:
    return held.sample and any(getattr(row, name) != getattr(held, name) for name in _FACTS)
