"""A completed backtest with changes, on the wire."""

from typing import Any

from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField

from apps.algorithms.serializers import CHANGE, CHANGEABLE, SettingChangeSerializer, StepField
from apps.backtests.analysis.comparison.serializers import MetricPairSerializer
from apps.backtests.serializers import EngineNotesField
from apps.core.api.resources import (
    AnswerSerializer,
    FlagField,
    IdTextField,
    StrictSerializer,
    example,
)


def _changes(step: str) -> StepField:
    return StepField(
        step, form=CHANGE, required=False, help_text="Fields of the step, to be replaced."
    )


@example
class WhatIfRequestSerializer(StrictSerializer):
    """Fields of steps that replace those of the same name; null removes a field.

    At least one is required.
    """

    has_snake_case_sources = False

    positionSizing = _changes("positionSizing")
    exitConditions = _changes("exitConditions")
    riskParameters = _changes("riskParameters")
    executionSettings = _changes("executionSettings")
    store = FlagField(
        required=False, default=False, help_text="Whether to submit it as a backtest too."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not any(attrs.get(name) for name in CHANGEABLE):
            raise serializers.ValidationError({"exitConditions": "is missing, and so is any step"})
        return attrs


@example
class WhatIfSerializer(AnswerSerializer):
    """A backtest beside the same backtest with changes."""

    backtestId = IdTextField(source="backtest.pk")
    changes = SettingChangeSerializer(many=True, help_text="The differences, in words.")
    metrics = MetricPairSerializer(
        many=True,
        allow_null=True,
        help_text="The metrics that are single numbers: `first` before, `second` with the changes."
        " Null if the range is too long to simulate at once.",
    )
    sameCandles = BooleanField(
        allow_null=True,
        help_text="Whether the candles equal the backtest's: false if some were loaded since;"
        " null if nothing was simulated.",
    )
    storedBacktestId = CharField(
        source="stored.pk", default=None, allow_null=True, help_text="The backtest of it, if any."
    )
    notes = EngineNotesField(
        source="backtest", help_text="On the engine that made the stored result."
    )
