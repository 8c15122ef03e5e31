"""Candles, their coverage and their quality on the wire."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from drf_spectacular.utils import extend_schema_field
from numpy.typing import NDArray
from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField, DateField, IntegerField

from apps.core.api.resources import (
    AnswerSerializer,
    ArrowRenderer,
    ChoiceField,
    MomentField,
    NumberField,
    QueryIntegerField,
    Schema,
    StrictSerializer,
    TableRenderer,
    TextField,
    example,
)
from apps.core.errors import Fault, InvalidInput
from apps.core.times import moment, read_moment, wire_time
from apps.engine.candles import TIMEFRAMES, Candles, InvalidSymbol, Symbol
from apps.engine.results import Unit, wire_dates
from apps.market.candles.coverage import MOST_GAPS
from apps.market.candles.quality import Days
from apps.market.candles.reading import AdjustedCandles
from apps.market.models import CorporateAction
from apps.market.rulebook.sessions import MARKETS
from apps.symbols.serializers import SYMBOL, SearchTextField

DEFAULT_CANDLES: Final = 500
MAX_CANDLES: Final = 5000
# Timeframes with candles that start at midnight in India, the day before in UTC.
DATED: Final = ("1d", "1w")
# Days or times of one kind that a report of quality lists.
_MOST_SHOWN: Final = 20
RANGE_END: Final[Schema] = {
    "type": "string",
    "description": "A date is a day in Asia/Kolkata; a timestamp has its zone.",
    "anyOf": [{"type": "string", "format": "date"}, {"format": "date-time"}],
    "examples": ["2026-04-08"],
}
_CANDLE: Final[Schema] = {
    "type": "array",
    "description": "[time, open, high, low, close, volume]",
    "prefixItems": [
        {"type": "string", "format": "date-time", "description": "ISO 8601 in UTC with Z."},
        *[{"type": "number"}] * 5,
    ],
    "items": {"anyOf": [{"type": "string"}, {"type": "number"}]},
    "minItems": 6,
    "maxItems": 6,
}
_SYNTHETIC_HELP: Final = "True if candles are generated: a sample, or bars after one."
_GENERATED_HELP: Final = "The start of the last generated candle; none after it is."
_MISSING_HELP: Final = "Sessions of the calendar without a bar, between the first bar and the last."


@extend_schema_field(SYMBOL)
class ParsedSymbolField(TextField):
    """A well-formed EXCHANGE:SYMBOL."""

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        try:
            return str(Symbol.parse(text))
        except InvalidSymbol as error:
            raise serializers.ValidationError(error.reason) from None


@extend_schema_field(RANGE_END)
class QueryMomentField(serializers.Field[int, str, str, Any]):
    """An end of a range in epoch seconds; with `last` a date is included."""

    def __init__(self, *, last: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self._last = last

    def to_internal_value(self, data: str) -> int:
        try:
            return read_moment(str(self.field_name), data, last=self._last)
        except InvalidInput as error:
            raise serializers.ValidationError(error.faults[0].message) from None


class RangeQuery(StrictSerializer):
    """A range of time."""

    to = QueryMomentField(
        source="end",
        last=True,
        required=False,
        help_text="The end of the range; a date is included.",
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add `from`, a word of Python's."""
        start = QueryMomentField(
            source="start", required=False, help_text="The beginning of the range."
        )
        return {**super().get_fields(), "from": start}

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        query = super().read(data)
        if "start" in query and "end" in query and query["end"] < query["start"]:
            raise InvalidInput(Fault("to", "lies before from", data["to"]))
        return query


@example
class CandlesQuery(RangeQuery):
    """The candles to list."""

    symbol = ParsedSymbolField(exact=True, help_text="EXCHANGE:SYMBOL")
    timeframe = ChoiceField(choices=TIMEFRAMES, help_text="The length of a candle.")
    limit = QueryIntegerField(
        max_value=MAX_CANDLES, default=DEFAULT_CANDLES, help_text="How many at most."
    )
    adjusted = ChoiceField(
        choices=("true", "false"),
        default="true",
        help_text="Adjusted for splits and bonuses, or as traded.",
    )


@example
class CoverageQuery(StrictSerializer):
    """The symbol of a coverage report."""

    symbol = ParsedSymbolField(exact=True, help_text="EXCHANGE:SYMBOL")
    timeframe = ChoiceField(
        choices=list(TIMEFRAMES), required=False, help_text="The timeframe of the quality report."
    )


@example
class SeriesQuery(StrictSerializer):
    """The filters of a list of stored series."""

    query = SearchTextField(required=False, help_text="A part of the symbol.")
    exchange = ChoiceField(choices=MARKETS, required=False, help_text="Only this exchange.")
    timeframe = ChoiceField(choices=TIMEFRAMES, required=False, help_text="Only this timeframe.")


@extend_schema_field({"type": "array", "items": _CANDLE})
class CandlesField(serializers.Field[Candles, Any, list[tuple[object, ...]], Any]):
    """Candles, each as [time, open, high, low, close, volume]."""

    def to_representation(self, value: Candles) -> list[tuple[object, ...]]:
        stamps = np.datetime_as_string(value.time.astype("M8[s]"), unit="ms", timezone="UTC")
        volume = value.volume
        is_whole = (volume == np.rint(volume)).all()
        volumes = volume.astype(np.int64).tolist() if is_whole else Unit.QUANTITY.round_all(volume)
        prices = (value.open, value.high, value.low, value.close)
        columns = (Unit.PRICE.round_all(column) for column in prices)
        return list(zip(stamps.tolist(), *columns, volumes, strict=True))


class AdjustmentSerializer(AnswerSerializer):
    """A corporate action that adjusts prices and volumes."""

    exDate = DateField(help_text="The first day with the change in the price.")
    kind = ChoiceField(choices=CorporateAction.Kind.values, help_text="The kind of action.")
    ratio = CharField(
        source="terms",
        help_text=(
            "The ratio as announced: for a bonus and rights only the new shares; for a"
            " demerger the remaining share of the price."
        ),
    )
    source_ = CharField(help_text="The source.")


@example
class CandlesSerializer(AnswerSerializer):
    """Candles of a symbol.

    `dates` has the dates of days and weeks; `synthetic` is present only if true, `generatedUntil`
    only beside it, `adjustedFor` only if it is not empty.
    """

    symbol = CharField(help_text="EXCHANGE:SYMBOL")
    timeframe = ChoiceField(choices=TIMEFRAMES, help_text="The length of a candle.")
    candles = CandlesField(help_text="Oldest first.")
    dates = serializers.ListField(
        child=DateField(),
        required=False,
        help_text="Only for days and weeks: the date in Asia/Kolkata of each candle, for a week its"
        " Monday.",
    )
    adjustedFor = AdjustmentSerializer(
        many=True, required=False, help_text="The corporate actions that changed any of them."
    )
    synthetic = BooleanField(required=False, help_text=_SYNTHETIC_HELP)
    generatedUntil = MomentField(required=False, help_text=_GENERATED_HELP)

    def to_representation(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        priced: AdjustedCandles = instance["priced"]
        timeframe = instance["timeframe"]
        answer: dict[str, Any] = {
            "symbol": instance["symbol"],
            "timeframe": timeframe,
            "candles": self.fields["candles"].to_representation(priced.candles),
        }
        if timeframe in DATED:
            answer["dates"] = wire_dates(priced.candles.time)
        if priced.actions:
            answer["adjustedFor"] = [AdjustmentSerializer.render(row) for row in priced.actions]
        if priced.generated_until is not None:
            until = wire_time(moment(priced.generated_until))
            answer |= {"synthetic": True, "generatedUntil": until}
        return answer


class CandleRowSerializer(AnswerSerializer):
    """A candle in a table."""

    time = MomentField(help_text="Start of the candle.")
    date = DateField(help_text="The date in Asia/Kolkata; of a week its Monday.")
    open = NumberField(help_text="Rupees.")
    high = NumberField(help_text="Rupees.")
    low = NumberField(help_text="Rupees.")
    close = NumberField(help_text="Rupees.")
    volume = NumberField(help_text="Units.")
    synthetic = BooleanField(help_text="Whether it is generated.")


class CandlesTable(TableRenderer):
    """Candles as CSV."""

    rows = {"candles": CandleRowSerializer}

    def rows_of(self, data: Mapping[str, Any], name: str) -> list[dict[str, object]]:
        return candle_rows(data)


class CandlesArrow(ArrowRenderer, CandlesTable):
    """Candles as Arrow."""


def candle_rows(answer: Mapping[str, Any]) -> list[dict[str, object]]:
    """Return the candles of an answer as rows of a table."""
    names = ("time", "open", "high", "low", "close", "volume")
    times = [candle[0] for candle in answer["candles"]]
    starts = np.array([time.removesuffix("Z") for time in times], "M8[s]").astype(np.int64)
    until = answer.get("generatedUntil", "")
    return [
        {**dict(zip(names, candle, strict=True)), "date": day, "synthetic": time <= until}
        for candle, day, time in zip(answer["candles"], wire_dates(starts), times, strict=True)
    ]


class GapSerializer(AnswerSerializer):
    """Consecutive missing sessions."""

    from_ = DateField(source="first", help_text="The first of them.")
    to = DateField(source="last", help_text="The last of them.")
    sessions = IntegerField(min_value=0, help_text="How many.")


class TimeframeCoverageSerializer(AnswerSerializer):
    """The stored history of one timeframe; for weeks without sessions."""

    timeframe = ChoiceField(choices=TIMEFRAMES, help_text="How long a bar is.")
    first = MomentField(help_text="The start of the first bar.")
    last = MomentField(help_text="The start of the last bar.")
    bars = IntegerField(min_value=0, help_text="How many.")
    days = IntegerField(required=False, min_value=0, help_text="Dates that have bars.")
    missingSessions = IntegerField(
        required=False, min_value=0, source="missing", help_text=_MISSING_HELP
    )
    gaps = GapSerializer(
        many=True, required=False, help_text=f"Missing sessions in a row; the newest {MOST_GAPS}."
    )
    uncheckedYears = serializers.ListField(
        child=IntegerField(),
        required=False,
        source="unchecked",
        help_text="Years without loaded holidays: their sessions never count as missing.",
    )
    synthetic = BooleanField(required=False, help_text=_SYNTHETIC_HELP)
    generatedUntil = MomentField(required=False, help_text=_GENERATED_HELP)
    adjusted = BooleanField(
        required=False, help_text="True if the source had adjusted the prices for splits."
    )


@example
class SeriesSerializer(TimeframeCoverageSerializer):
    """The stored history of one symbol in one timeframe; the call for one symbol has the gaps."""

    gaps = None  # type: ignore[assignment]  # REST framework's way to leave a field out

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {"symbol": CharField(help_text="EXCHANGE:SYMBOL"), **super().get_fields()}


class ListedDaysSerializer(AnswerSerializer):
    """The number of days, and the first of them."""

    count = IntegerField(min_value=0, help_text="How many there are.")
    first = serializers.ListField(
        child=DateField(), help_text=f"The first {_MOST_SHOWN} of them at most."
    )

    def to_representation(self, instance: Days) -> dict[str, Any]:
        dates = instance[:_MOST_SHOWN].astype("M8[D]").astype(str)
        return {"count": len(instance), "first": dates.tolist()}


class ListedTimesSerializer(AnswerSerializer):
    """The number of moments, and the first of them."""

    count = IntegerField(min_value=0, help_text="How many there are.")
    first = serializers.ListField(
        child=MomentField(), help_text=f"The first {_MOST_SHOWN} of them at most."
    )

    def to_representation(self, instance: NDArray[np.int64]) -> dict[str, Any]:
        times = instance[:_MOST_SHOWN].astype("M8[s]")
        stamps = np.datetime_as_string(times, unit="ms", timezone="UTC")
        return {"count": len(instance), "first": stamps.tolist()}


class CandleQualitySerializer(AnswerSerializer):
    """The quality of the bars of one timeframe."""

    timeframe = ChoiceField(choices=TIMEFRAMES, help_text="How long a bar is.")
    bars = IntegerField(min_value=0, help_text="How many are looked at.")
    days = IntegerField(min_value=0, source="days.size", help_text="Dates that have bars.")
    barsWithoutVolume = IntegerField(
        min_value=0, source="without_volume", help_text="Bars with volume 0."
    )
    barsOutsideHours = IntegerField(
        min_value=0, source="off_session", help_text="Bars outside of all sessions."
    )
    missingSessions = ListedDaysSerializer(source="missing_days", help_text=_MISSING_HELP)
    shortDays = ListedDaysSerializer(help_text="Fewer bars than the session has periods.")
    daysWithoutSession = ListedDaysSerializer(
        source="unlisted_days", help_text="Bars though the calendar has no session."
    )
    jumps = ListedTimesSerializer(help_text="Open 30 % or more away from the last close.")
    spikes = ListedTimesSerializer(
        help_text="Closes 30 % or more away from both neighbours, if these are near each other."
    )
    runsWithoutVolume = ListedTimesSerializer(
        source="silent_runs",
        help_text="Begin ten bars or more without volume, of a symbol that has volumes elsewhere.",
    )


@example
class CoverageSerializer(AnswerSerializer):
    """The stored history of a symbol, and the quality of one timeframe."""

    symbol = CharField(help_text="EXCHANGE:SYMBOL")
    timeframes = TimeframeCoverageSerializer(many=True, help_text="Shortest first.")
    quality = CandleQualitySerializer(
        required=False, help_text="The quality of the requested timeframe."
    )
