"""What may have been meant by a symbol that is malformed or that no master lists."""

from datetime import date
from typing import Final

from django.db.models import DecimalField, F, QuerySet, Value
from django.db.models.functions import Abs

from apps.engine.symbols import EXCHANGES, InvalidSymbol, parse
from apps.symbols.models import Instrument
from apps.symbols.search import search

# Brokers' names of segments, by the exchange that they belong to.
_SEGMENTS_OF: Final = {
    "NFO": "NSE", "CDS": "NSE", "BFO": "BSE", "BCD": "BSE", "NSEFO": "NSE", "BSEFO": "BSE",
}  # fmt: skip


def suggest(
    among: QuerySet[Instrument], symbol: str, *, today: date, limit: int
) -> list[Instrument]:
    """What a symbol that is malformed or unknown may have been meant for: of an option the strikes
    nearest to it, else what a search for its code finds, on its own exchange before others.
    """
    strikes = _nearest_strikes(among, symbol, today, limit)
    if strikes:
        return strikes
    exchange, _, name = symbol.upper().strip().rpartition(":")
    if not name:
        return []
    exchange = _SEGMENTS_OF.get(exchange, exchange)
    places = [among.filter(exchange=exchange), among] if exchange in EXCHANGES else [among]
    found = (search(place, query=name, today=today, limit=limit) for place in places)
    return next(filter(None, found), [])


def _nearest_strikes(
    among: QuerySet[Instrument], symbol: str, today: date, limit: int
) -> list[Instrument]:
    try:
        form = parse(symbol)
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
