"""Bars that a feed sends, and what became of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from apps.core.api.serializers import Body, ChoiceField, ListField, TextField
from apps.core.api.strict_json import MAX_NUMBER
from apps.core.errors import Fault, InvalidInput
from apps.core.times import wire_time
from apps.engine.candles import TIMEFRAMES
from apps.engine.symbols import InvalidSymbol, parse
from apps.market.dates import EARLIEST, read_moment
from apps.market.feeds.validation import IntakeCounts, RejectedBar
from apps.market.intraday_buffer import CandleRow

MOST_CANDLES: Final = 5000
MOST_SERIES: Final = 100
MOST_RUPEES: Final = 1e9
MOST_VOLUME: Final = MAX_NUMBER
_MOST_FAULTS: Final = 100
_NUMBERS: Final = ("open", "high", "low", "close", "volume")


class CandlesBody(Body):
    refuses_unknown = True
    symbol = TextField()
    timeframe = ChoiceField(choices=tuple(TIMEFRAMES))
    candles = ListField()


class SeriesBody(Body):
    refuses_unknown = True
    timeframe = ChoiceField(choices=tuple(TIMEFRAMES))
    series = ListField()


class OneOfSeriesBody(Body):
    refuses_unknown = True
    symbol = TextField()
    candles = ListField()


@dataclass(frozen=True, slots=True)
class CandleBatch:
    """By symbol its bars, in the order in which they were sent. `many`: as a list of series, which
    is answered by one.
    """

    timeframe: str
    series: Mapping[str, Sequence[CandleRow]]
    many: bool


def candles_in(data: Any) -> CandleBatch:
    """Any: as of `Body.read`. Raises InvalidInput: then no bar is taken."""
    if "series" in data:
        return _many(SeriesBody.read(data))
    read = CandlesBody.read(data)
    _check_count("candles", read["candles"], len(read["candles"]), MOST_CANDLES)
    rows = _rows("candles", read["candles"])
    return CandleBatch(read["timeframe"], {_symbol(read["symbol"]): rows}, many=False)


def _many(read: Mapping[str, Any]) -> CandleBatch:
    """Any: as of `Body.read`."""
    items: list[object] = read["series"]
    _check_count("series", items, len(items), MOST_SERIES)
    series: dict[str, Sequence[CandleRow]] = {}
    faults: list[Fault] = []
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            faults.append(Fault(f"series[{index}]", "must be an object", item))
            continue
        try:
            symbol, rows = _one(item)
        except InvalidInput as error:
            faults += [replace(one, field=f"series[{index}].{one.field}") for one in error.faults]
            continue
        if symbol in series:
            faults.append(Fault(f"series[{index}].symbol", "is there already", symbol))
        series[symbol] = rows
    if faults:
        raise InvalidInput(*faults[:_MOST_FAULTS])
    _check_count("series", items, sum(map(len, series.values())), MOST_CANDLES, of="candles")
    return CandleBatch(read["timeframe"], series, many=True)


def _one(item: Mapping[str, object]) -> tuple[str, Sequence[CandleRow]]:
    """Raises InvalidInput."""
    read = OneOfSeriesBody.read(item)
    _check_count("candles", read["candles"], len(read["candles"]), MOST_CANDLES)
    return _symbol(read["symbol"]), _rows("candles", read["candles"])


def _check_count(field: str, sent: list[object], count: int, most: int, *, of: str = "") -> None:
    if not 1 <= count <= most:
        message = f"must hold 1 to {most} {of or field}, and holds {count}"
        raise InvalidInput(Fault(field, message, sent))


def _rows(place: str, items: Sequence[object]) -> Sequence[CandleRow]:
    rows: list[CandleRow] = []
    faults: list[Fault] = []
    for index, item in enumerate(items):
        try:
            rows.append(_row(f"{place}[{index}]", item))
        except InvalidInput as error:
            faults += error.faults
    if faults:
        raise InvalidInput(*faults[:_MOST_FAULTS])
    return rows


def _symbol(text: str) -> str:
    try:
        return str(parse(text))
    except InvalidSymbol as error:
        raise InvalidInput(Fault("symbol", error.reason, text)) from None


def _row(place: str, item: object) -> CandleRow:
    """Raises InvalidInput."""
    if not isinstance(item, list) or len(item) != 1 + len(_NUMBERS):
        raise InvalidInput(Fault(place, "must be [time, open, high, low, close, volume]", item))
    faults = list(islice(_wrong_numbers(place, item[1:]), len(_NUMBERS)))
    if faults:
        raise InvalidInput(*faults)
    opened, high, low, close, volume = map(float, item[1:])
    if not low <= min(opened, close) <= max(opened, close) <= high:
        raise InvalidInput(Fault(place, "has an open or close outside its low and high", item))
    return _time(f"{place}[0]", item[0]), opened, high, low, close, volume


def _wrong_numbers(place: str, numbers: Sequence[object]) -> Iterator[Fault]:
    for at, (name, value) in enumerate(zip(_NUMBERS, numbers, strict=True), start=1):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if name == "volume":
            if not (is_number and 0 <= value <= MOST_VOLUME):  # type: ignore[operator]  # a number
                yield Fault(f"{place}[{at}]", f"must be a volume from 0 to {MOST_VOLUME:g}", value)
        elif not (is_number and 0 < value <= MOST_RUPEES):  # type: ignore[operator]  # a number
            yield Fault(f"{place}[{at}]", f"must be a price above 0, to {MOST_RUPEES:g}", value)


def _time(place: str, value: object) -> int:
    """A date is 00:00 of it in Asia/Kolkata, as days and weeks are stamped."""
    if not isinstance(value, str):
        raise InvalidInput(Fault(place, "must be the start of the bar as text", value))
    time = read_moment(place, value, last=False)
    if time < EARLIEST.timestamp():
        raise InvalidInput(Fault(place, f"lies before {EARLIEST.date()}", value))
    return time


def sent_out(sent: CandleBatch, received: Mapping[str, IntakeCounts]) -> dict[str, object]:
    shown = [_received(symbol, sent, each) for symbol, each in received.items()]
    return {"timeframe": sent.timeframe, "series": shown} if sent.many else shown[0]


def _received(symbol: str, sent: CandleBatch, received: IntakeCounts) -> dict[str, object]:
    return {
        "symbol": symbol,
        "timeframe": sent.timeframe,
        "received": len(sent.series[symbol]),
        "added": received.added,
        "repeated": received.repeated,
        "changed": received.changed,
        "late": received.late,
        "outOfOrder": received.out_of_order,
        "offSession": received.off_session,
        "sampleDropped": received.dropped,
        "refused": [_refused(each) for each in received.rejected],
    }


def _refused(each: RejectedBar) -> dict[str, object]:
    return {
        "index": each.index,
        "time": wire_time(datetime.fromtimestamp(each.time, tz=UTC)),
        "reason": each.reason.value,
    }
