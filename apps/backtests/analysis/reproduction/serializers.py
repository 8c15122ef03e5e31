"""Complete receipts and reproductions on the wire."""

from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField

from apps.algorithms.serializers import StepsField
from apps.backtests.models import BacktestKind, BacktestStatus
from apps.backtests.serializers import ReceiptField, StudyConfigField
from apps.core.api.resources import (
    AnswerSerializer,
    ChoiceField,
    IdTextField,
    example,
)
from apps.engine.candles import TIMEFRAME_SECONDS


class CandleSeriesSerializer(AnswerSerializer):
    symbol = CharField()
    timeframe = ChoiceField(choices=TIMEFRAME_SECONDS)
    months = serializers.DictField(
        child=CharField(),
        help_text=(
            "The first 16 digits of the SHA-256 of the candles of each month in Asia/Kolkata."
        ),
    )


@example
class CompleteReceiptSerializer(AnswerSerializer):
    """The data for repeating a backtest, except candles and the rulebook."""

    backtestId = IdTextField(source="backtest.pk")
    kind = ChoiceField(choices=BacktestKind, source="backtest.kind")
    configuration = StepsField(
        source="backtest.configuration", help_text="The steps, with the overrides applied."
    )
    config = StudyConfigField(source="backtest.study")
    receipt = ReceiptField(source="backtest", allow_null=True)
    candleSeries = CandleSeriesSerializer(many=True)


class HashPairSerializer(AnswerSerializer):
    """One hash or version in the original receipt and in the reproduced one."""

    name = CharField(help_text="Its name in receipts.")
    original = CharField(allow_null=True, help_text="A hash or a version; null without one.")
    reproduced = CharField(allow_null=True, help_text="A hash or a version; null without one.")
    isEqual = BooleanField(allow_null=True, help_text="Null if the two cannot be compared.")


class ReceiptComparisonSerializer(AnswerSerializer):
    """The comparison of two receipts, line by line."""

    isEqual = BooleanField(help_text="Whether the results are equal, to the last byte.")
    hashes = HashPairSerializer(many=True)
    differences = serializers.ListField(
        child=CharField(),
        help_text="Sentences about inputs that differ or cannot be compared, and about other"
        " differences.",
    )


@example
class ReproductionSerializer(AnswerSerializer):
    """A repeated backtest."""

    backtestId = IdTextField(source="backtest.pk", help_text="The id of the new backtest.")
    reproducesId = IdTextField(source="original.pk", help_text="The id of the original.")
    status = ChoiceField(choices=BacktestStatus, source="backtest.status")
    comparison = ReceiptComparisonSerializer(
        allow_null=True, help_text="Null unless the new backtest is completed."
    )
