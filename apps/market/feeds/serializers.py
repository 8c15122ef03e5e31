"""Bars from a feed, and the result of receiving them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from drf_spectacular.utils import (
    OpenApiExample,
    PolymorphicProxySerializer,
    extend_schema_field,
)
from rest_framework.serializers import CharField, IntegerField

from apps.core.api.resources import (
    AnswerSerializer,
    ChoiceField,
    FlagField,
    ListField,
    MomentField,
    Schema,
    StrictSerializer,
    examples_of,
)
from apps.core.errors import Fault, InvalidInput
from apps.core.requests import MAX_NUMBER
from apps.core.times import read_moment, wire_time
from apps.engine.candles import TIMEFRAMES
from apps.market.candles.buffer import CandleRow
from apps.market.candles.chunks import EARLIEST
from apps.market.feeds.validation import BarRejectReason, IntakeCounts
from apps.market.serializers.candles import RANGE_END, ParsedSymbolField
from apps.symbols.serializers import SYMBOL

MOST_CANDLES: Final = 5000
MOST_SERIES: Final = 100
MOST_RUPEES: Final = 1e9
MOST_VOLUME: Final = MAX_NUMBER
_MOST_FAULTS: Final = 100
_REPLACE_SAMPLE_HELP: Final = (
    "Drop a generated sample of the symbols in this timeframe; else candles must follow its end."
)
_NUMBERS: Final = ("open", "high", "low", "close", "volume")

_PRICE: Final[Schema] = {"type": "number", "exclusiveMinimum": 0, "maximum": MOST_RUPEES}
_VOLUME: Final[Schema] = {"type": "number", "minimum": 0, "maximum": MOST_VOLUME}
_CANDLES: Final[Schema] = {
    "type": "array",
    "items": {
        "type": "array",
        "description": "[time, open, high, low, close, volume]; the time is the start of the bar.",
        "prefixItems": [RANGE_END, _PRICE, _PRICE, _PRICE, _PRICE, _VOLUME],
        "items": {"anyOf": [{"type": "string"}, {"type": "number"}]},
        "minItems": 6,
        "maxItems": 6,
    },
    "minItems": 1,
    "maxItems": MOST_CANDLES,
}
_SERIES: Final[Schema] = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["symbol", "candles"],
        "properties": {
            "symbol": SYMBOL,
            "candles": {**_CANDLES, "description": "The candles in any order."},
        },
        "additionalProperties": False,
    },
    "minItems": 1,
    "maxItems": MOST_SERIES,
}


@extend_schema_field(_CANDLES)
class ClosedCandlesField(ListField):
    """Candles, parsed after the rest of the body."""


@extend_schema_field(_SERIES)
class SeriesField(ListField):
    """Candles by symbol, parsed after the rest of the body."""


class SymbolCandlesSerializer(StrictSerializer):
    """Closed candles of one symbol."""

    symbol = ParsedSymbolField(help_text="EXCHANGE:SYMBOL")
    candles = ClosedCandlesField(help_text="The candles in any order.")

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """Return the body with its candles as rows. Raises InvalidInput: then no bar is stored."""
        body = super().read(data)
        items = body["candles"]
        _check_count("candles", items, len(items), MOST_CANDLES)
        return {**body, "candles": _rows("candles", items)}


class ClosedCandlesSerializer(SymbolCandlesSerializer):
    """Closed candles of one symbol."""

    timeframe = ChoiceField(choices=tuple(TIMEFRAMES), help_text="The length of a candle.")
    replaceSample = FlagField(default=False, help_text=_REPLACE_SAMPLE_HELP)


class ClosedCandlesOfManySerializer(StrictSerializer):
    """Closed candles of several symbols."""

    timeframe = ChoiceField(choices=tuple(TIMEFRAMES), help_text="The length of a candle.")
    series = SeriesField(help_text=f"Each symbol once; at most {MOST_CANDLES:,} candles in all.")
    replaceSample = FlagField(default=False, help_text=_REPLACE_SAMPLE_HELP)

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """Return the body with its rows by symbol. Raises InvalidInput: then no bar is stored."""
        body = super().read(data)
        items: list[object] = body["series"]
        _check_count("series", items, len(items), MOST_SERIES)
        series: dict[str, Sequence[CandleRow]] = {}
        faults: list[Fault] = []
        for index, item in enumerate(items):
            path = f"series[{index}]"
            if not isinstance(item, dict):
                faults.append(Fault(path, "must be an object", item))
                continue
            try:
                candles = SymbolCandlesSerializer.read(item)
            except InvalidInput as error:
                faults += [replace(fault, field=f"{path}.{fault.field}") for fault in error.faults]
                continue
            if candles["symbol"] in series:
                faults.append(Fault(f"{path}.symbol", "is there already", candles["symbol"]))
            series[candles["symbol"]] = candles["candles"]
        if faults:
            raise InvalidInput(*faults[:_MOST_FAULTS])
        _check_count("series", items, sum(map(len, series.values())), MOST_CANDLES, of="candles")
        return {**body, "series": series}


CANDLES_TO_RECEIVE: Final = PolymorphicProxySerializer(
    component_name="CandlesToReceive",
    serializers=[ClosedCandlesSerializer, ClosedCandlesOfManySerializer],
    resource_type_field_name=None,
)


@dataclass(frozen=True, slots=True)
class CandleBatch:
    """Bars keyed by symbol, in the order sent.

    `many` marks a list of series, which gets an answer with a list.
    """

    timeframe: str
    series: Mapping[str, Sequence[CandleRow]]
    replace_sample: bool
    many: bool

    @classmethod
    def read(cls, data: Any) -> "CandleBatch":
        """Return the batch in a body. Raises InvalidInput: then no bar is stored."""
        if "series" in data:
            body = ClosedCandlesOfManySerializer.read(data)
            return cls(body["timeframe"], body["series"], body["replace_sample"], many=True)
        body = ClosedCandlesSerializer.read(data)
        series = {body["symbol"]: body["candles"]}
        return cls(body["timeframe"], series, body["replace_sample"], many=False)


def _check_count(field: str, sent: list[object], count: int, most: int, *, of: str = "") -> None:
    if not 1 <= count <= most:
        message = f"must hold 1 to {most} {of or field}, and holds {count}"
        raise InvalidInput(Fault(field, message, sent))


def _rows(path: str, items: Sequence[object]) -> Sequence[CandleRow]:
    rows: list[CandleRow] = []
    faults: list[Fault] = []
    for index, item in enumerate(items):
        try:
            rows.append(_row(f"{path}[{index}]", item))
        except InvalidInput as error:
            faults += error.faults
    if faults:
        raise InvalidInput(*faults[:_MOST_FAULTS])
    return rows


def _row(path: str, item: object) -> CandleRow:
    """Raises InvalidInput."""
    if not isinstance(item, list) or len(item) != 1 + len(_NUMBERS):
        raise InvalidInput(Fault(path, "must be [time, open, high, low, close, volume]", item))
    faults = list(islice(_wrong_numbers(path, item[1:]), len(_NUMBERS)))
    if faults:
        raise InvalidInput(*faults)
    opened, high, low, close, volume = map(float, item[1:])
    if not low <= min(opened, close) <= max(opened, close) <= high:
        raise InvalidInput(Fault(path, "has an open or close outside its low and high", item))
    return _time(f"{path}[0]", item[0]), opened, high, low, close, volume


def _wrong_numbers(path: str, numbers: Sequence[object]) -> Iterator[Fault]:
    for at, (name, value) in enumerate(zip(_NUMBERS, numbers, strict=True), start=1):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if name == "volume":
            if not (is_number and 0 <= value <= MOST_VOLUME):  # type: ignore[operator]  # a number
                yield Fault(f"{path}[{at}]", f"must be a volume from 0 to {MOST_VOLUME:g}", value)
        elif not (is_number and 0 < value <= MOST_RUPEES):  # type: ignore[operator]  # a number
            yield Fault(f"{path}[{at}]", f"must be a price above 0, to {MOST_RUPEES:g}", value)


def _time(path: str, value: object) -> int:
    """Return the time; a date is its 00:00 in Asia/Kolkata, the stamp of days and weeks."""
    if not isinstance(value, str):
        raise InvalidInput(Fault(path, "must be the start of the bar as text", value))
    time = read_moment(path, value, last=False)
    if time < EARLIEST.timestamp():
        raise InvalidInput(Fault(path, f"lies before {EARLIEST.date()}", value))
    return time


class RefusedCandleSerializer(AnswerSerializer):
    """A rejected candle."""

    index = IntegerField(min_value=0, help_text="The index of the candle in the request, from 0.")
    time = MomentField(help_text="Its start.")
    reason = ChoiceField(choices=BarRejectReason, help_text="Why it was not taken.")


class ReceivedCandlesSerializer(AnswerSerializer):
    """The result for the candles of one symbol."""

    symbol = CharField(help_text="EXCHANGE:SYMBOL")
    timeframe = ChoiceField(choices=tuple(TIMEFRAMES), help_text="The length of a candle.")
    received = IntegerField(
        min_value=0,
        help_text=("The number of sent candles; each is added, repeated, changed or refused."),
    )
    added = IntegerField(min_value=0, help_text="The number of new candles.")
    repeated = IntegerField(
        min_value=0, help_text="The number of candles stored with the same values, or sent twice."
    )
    changed = IntegerField(
        min_value=0, help_text="The number of stored candles that got other values."
    )
    late = IntegerField(
        min_value=0, help_text=("The number of candles added before the newest stored one.")
    )
    outOfOrder = IntegerField(
        min_value=0, help_text=("The number of candles sent after one that starts later.")
    )
    offSession = IntegerField(
        min_value=0, help_text=("The number of stored candles outside the hours of the session.")
    )
    sampleDropped = IntegerField(
        min_value=0, help_text=("The number of removed bars of a generated sample.")
    )
    refused = RefusedCandleSerializer(many=True, help_text="The rejected candles.")

    def to_representation(self, instance: tuple[str, CandleBatch, IntakeCounts]) -> dict[str, Any]:
        symbol, batch, counts = instance
        return {
            "symbol": symbol,
            "timeframe": batch.timeframe,
            "received": len(batch.series[symbol]),
            "added": counts.added,
            "repeated": counts.repeated,
            "changed": counts.changed,
            "late": counts.late,
            "outOfOrder": counts.out_of_order,
            "offSession": counts.off_session,
            "sampleDropped": counts.dropped,
            "refused": [
                {
                    "index": bar.index,
                    "time": wire_time(datetime.fromtimestamp(bar.time, tz=UTC)),
                    "reason": bar.reason.value,
                }
                for bar in counts.rejected
            ],
        }


class ReceivedCandlesOfManySerializer(AnswerSerializer):
    """The results for the candles of several symbols, in the order sent."""

    timeframe = ChoiceField(choices=tuple(TIMEFRAMES), help_text="The length of a candle.")
    series = ReceivedCandlesSerializer(many=True, help_text="The result for each symbol.")


CANDLES_RECEIVED: Final = PolymorphicProxySerializer(
    component_name="CandlesReceived",
    serializers=[ReceivedCandlesSerializer, ReceivedCandlesOfManySerializer],
    resource_type_field_name=None,
)
EXAMPLES: Final = [
    OpenApiExample(name, value, request_only=is_request, response_only=not is_request)
    for kind, is_request in (
        ("ClosedCandles", True),
        ("ClosedCandlesOfMany", True),
        ("ReceivedCandles", False),
    )
    for name, value in examples_of("market")[kind].items()
]


def render_received(batch: CandleBatch, received: Mapping[str, IntakeCounts]) -> dict[str, Any]:
    """Return the answer to a batch; for several symbols in `series`."""
    series = [
        ReceivedCandlesSerializer.render((symbol, batch, counts))
        for symbol, counts in received.items()
    ]
    return {"timeframe": batch.timeframe, "series": series} if batch.many else series[0]
