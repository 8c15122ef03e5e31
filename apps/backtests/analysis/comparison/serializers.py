"""A comparison on the wire."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import CharField, IntegerField

from apps.algorithms.serializers import SettingChangeSerializer
from apps.backtests.analysis.comparison.services import MetricPair
from apps.backtests.models import BacktestKind
from apps.backtests.serializers import EngineNotesField
from apps.core.api.resources import (
    ID_EXAMPLE,
    AnswerSerializer,
    ChoiceField,
    IdTextField,
    NumberField,
    StrictSerializer,
    TextField,
    example,
)
from apps.core.database import is_id
from apps.engine.results import FIELD_UNITS, PairedReturns, Unit, round_for_wire

_PAIR: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": "^[0-9a-f]{24},[0-9a-f]{24}$",
    "examples": [f"{ID_EXAMPLE},{ID_EXAMPLE[::-1]}"],
}


@extend_schema_field(_PAIR)
class IdPairField(TextField):
    """Two distinct ids, separated by a comma."""

    def to_internal_value(self, data: object) -> Any:
        ids = tuple(str(super().to_internal_value(data)).split(","))
        if len(set(ids)) != 2 or len(ids) != 2 or not all(map(is_id, ids)):
            raise serializers.ValidationError("must be the ids of two backtests, as a,b")
        return ids


@example
class CompareQuery(StrictSerializer):
    """The backtests to compare."""

    ids = IdPairField(exact=True, max_length=49, help_text="Two ids, separated by a comma.")


class ComparedBacktestSerializer(AnswerSerializer):
    id = IdTextField()
    name = CharField()
    kind = ChoiceField(choices=BacktestKind)
    algorithmId = IdTextField()
    algorithmVersion = IntegerField()
    symbols = serializers.ListField(child=CharField())
    timeframe = CharField()
    startDate = CharField()
    endDate = CharField()
    notes = EngineNotesField(source="*")


class MetricPairSerializer(AnswerSerializer):
    """A metric of both."""

    name = CharField(help_text="The name as in `performance`.")
    first = NumberField(allow_null=True)
    second = NumberField(allow_null=True)
    difference = NumberField(allow_null=True, help_text="Second less first.")

    def to_representation(self, instance: MetricPair) -> dict[str, Any]:
        """Round all three by the metric's own unit."""
        unit = FIELD_UNITS.get(instance.name, Unit.RATIO)
        rounded: dict[str, Any] = round_for_wire(super().to_representation(instance), unit)
        return rounded


class IntervalSerializer(AnswerSerializer):
    """A difference, second less first, with its 5 % and 95 % quantiles over the paths."""

    value = NumberField(allow_null=True)
    lower = NumberField(allow_null=True)
    upper = NumberField(allow_null=True)


class PairedReturnsSerializer(AnswerSerializer):
    """The daily returns of both on their common days."""

    days = IntegerField()
    meanReturn = IntervalSerializer(help_text="The difference in mean daily returns, as fractions.")
    sharpeRatio = IntervalSerializer(
        help_text="The difference in the ratio of daily returns, not annualised."
    )
    probability = NumberField(
        help_text="Share of the paths, 0 to 1, with a higher mean return of the second."
    )

    def to_representation(self, instance: Any) -> dict[str, Any]:
        rounded: dict[str, Any] = round_for_wire(super().to_representation(instance))
        return rounded


def _interval(value: float) -> dict[str, float]:
    return {"value": value, "lower": value - 0.001, "upper": value + 0.002}


@example
class BacktestComparisonSerializer(AnswerSerializer):
    """Two backtests side by side, in the order of the request."""

    backtests = ComparedBacktestSerializer(many=True)
    metrics = MetricPairSerializer(many=True, help_text="The metrics that are single numbers.")
    changes = SettingChangeSerializer(
        many=True, help_text="The differences in their steps, in words."
    )
    returns = PairedReturnsSerializer(
        allow_null=True,
        help_text=f"Null if they have fewer than {PairedReturns.LEAST_DAYS} days in common.",
    )
    verdict = CharField(help_text="Whether one was better, in a sentence.")
    notExamined = serializers.ListField(
        child=CharField(), help_text="The aspects that were not compared."
    )
