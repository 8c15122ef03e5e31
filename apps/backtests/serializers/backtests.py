"""Backtests on the wire."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField, FloatField, IntegerField

from apps.algorithms.serializers import FiguresField
from apps.backtests.models import Backtest, BacktestKind, BacktestStatus
from apps.backtests.running import results
from apps.backtests.running.receipts import Receipt
from apps.backtests.running.results import engine_notes, noted_receipt
from apps.backtests.running.sample_notices import notice_on_result
from apps.backtests.running.submissions import STUDY_FIELDS, ends_in_future
from apps.core.api.resources import (
    ID_PATTERN,
    STRING,
    AnswerSerializer,
    ArrowRenderer,
    ChoiceField,
    DocumentSerializer,
    FlagField,
    IdTextField,
    ListField,
    MomentField,
    NumberField,
    QueryIntegerField,
    RecordField,
    RecordSerializer,
    Schema,
    StrictSerializer,
    TableRenderer,
    TextField,
    example,
    schemas_of,
)
from apps.core.times import indian_time
from apps.engine.candles import TIMEFRAMES
from apps.engine.results import (
    BacktestPerformance,
    Breakdowns,
    ClosedTrade,
    EquityPoint,
    ReceiptNote,
    complete_performance,
    round_for_wire,
)
from apps.engine.studies import (
    MonteCarloConfig,
    MonteCarloResults,
    OptimizationConfig,
    OptimizationResults,
    WalkForwardConfig,
    WalkForwardResults,
)
from apps.market.serializers import RANGE_END
from apps.symbols.serializers import SYMBOL

# The sort fields of a list, and their columns.
BACKTEST_SORTS: Final = {"createdAt": "created_at", "name": "name"}
DEFAULT_POINTS: Final = 500
_MAX_POINTS: Final = 5000
_KIND_HELP: Final = (
    "`backtest`, the default: one simulation. The others are studies of many: `walk_forward`"
    " chooses parameters and trades them on later days, `monte_carlo` draws the trades again,"
    " `optimization` ranks sets of parameters."
)


@extend_schema_field({"type": "string", "pattern": ID_PATTERN})
class AlgorithmIdField(TextField):
    """The id of an algorithm; any text is accepted."""


@extend_schema_field(RANGE_END)
class RangeEndField(TextField):
    """A date or a timestamp."""


@extend_schema_field(
    {"type": "array", "items": SYMBOL, "minItems": 1, "maxItems": 50, "uniqueItems": True}
)
class SymbolsField(ListField):
    """Symbols; the engine validates them with the algorithm."""


@extend_schema_field({"type": "string", "enum": list(TIMEFRAMES)})
class TimeframeField(TextField):
    """A timeframe; the engine validates it with the algorithm."""


@extend_schema_field(SYMBOL)
class BacktestSymbolField(TextField):
    """A symbol of the backtest."""


@example
class BacktestRequestSerializer(StrictSerializer):
    """A backtest to run.

    `symbols`, `timeframe`, `initialCapital`, `slippage` and `charges` override the algorithm's.
    """

    has_snake_case_sources = False

    algorithmId = AlgorithmIdField(
        exact=True, max_length=100, help_text="The algorithm to simulate."
    )
    startDate = RangeEndField(
        exact=True, max_length=40, help_text="The first day in Asia/Kolkata, or the first moment."
    )
    endDate = RangeEndField(
        exact=True,
        max_length=40,
        help_text="The last day, included in the range, or a moment (bars start before it).",
    )
    kind = ChoiceField(choices=BacktestKind, required=False, help_text=_KIND_HELP)
    name = TextField(max_length=100, required=False, help_text="For its owner to find it by.")
    symbols = SymbolsField(required=False, help_text="Instead of the algorithm's.")
    timeframe = TimeframeField(
        exact=True, max_length=10, required=False, help_text="Instead of the algorithm's."
    )
    initialCapital = NumberField(min_value=1, max_value=1e12, required=False, help_text="Rupees.")
    slippage = NumberField(
        min_value=0,
        max_value=5,
        required=False,
        help_text="How much worse than its price a market or stop fill is, in percent.",
    )
    charges = ChoiceField(
        choices=("none", "standard"),
        required=False,
        help_text="Whether brokerage, taxes and fees are deducted: `none`, or by the `standard`"
        " schedule of the instrument's segment.",
    )
    walkForwardConfig = RecordField(
        WalkForwardConfig,
        required=False,
        help_text="Only for the kind walk_forward. Absent: the algorithm's configuration.",
    )
    monteCarloConfig = RecordField(
        MonteCarloConfig,
        required=False,
        help_text=(
            "Only for the kind monte_carlo. Absent: the algorithm's configuration, or else"
            " all defaults."
        ),
    )
    optimizationConfig = RecordField(
        OptimizationConfig,
        required=False,
        help_text="Required for kind optimization, and only for it.",
    )


@example
class BacktestChangeSerializer(StrictSerializer):
    """The new name of a backtest, or whether it is kept, or both."""

    name = TextField(max_length=100, required=False, help_text="For its owner to find it by.")
    kept = FlagField(required=False, help_text="Whether automatic deletion skips it.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError({"name": "is missing, and so is `kept`"})
        return attrs


@extend_schema_field(STRING)
class AlgorithmFilterField(serializers.Field[str, str, str, Any]):
    """The id of an algorithm; any text is accepted."""

    def to_internal_value(self, data: str) -> str:
        return data


@example
class BacktestQuery(StrictSerializer):
    """The filters and the order of a list of backtests."""

    algorithmId = AlgorithmFilterField(required=False, help_text="Only this algorithm.")
    status = ChoiceField(choices=BacktestStatus, required=False, help_text="Only this status.")
    kind = ChoiceField(choices=BacktestKind, required=False, help_text="Only this kind.")
    sort = ChoiceField(
        choices=list(BACKTEST_SORTS), default="createdAt", help_text="The field to sort by."
    )
    order = ChoiceField(choices=("asc", "desc"), default="desc", help_text="The direction.")


class TradesQuery(StrictSerializer):
    """The symbol of a list of trades."""

    symbol = BacktestSymbolField(
        required=False, exact=True, help_text="Only this symbol of the backtest."
    )


class EquityQuery(StrictSerializer):
    """The resolution of the equity curve."""

    points = QueryIntegerField(
        max_value=_MAX_POINTS, default=DEFAULT_POINTS, help_text="How many points at most."
    )


class PerformanceField(RecordField):
    """The metrics of a result in the order of their table."""

    def to_representation(self, value: Mapping[str, Any]) -> Any:
        return round_for_wire(complete_performance(value))


class ReceiptField(RecordField):
    """The inputs behind a result; for generated bars the first note says so."""

    def __init__(self, **options: Any) -> None:
        super().__init__(Receipt, **options)

    def to_representation(self, value: Backtest) -> Receipt | None:
        receipt, notice = noted_receipt(value), notice_on_result(value)
        if receipt is None or not notice:
            return receipt
        note = ReceiptNote(code="sample_data", message=notice)
        return {**receipt, "notes": [note, *receipt["notes"]]}


class EngineNotesField(RecordField):
    """The known defects of the engine version behind a result."""

    def __init__(self, **options: Any) -> None:
        super().__init__(ReceiptNote, many=True, **options)

    def to_representation(self, value: Backtest) -> list[ReceiptNote]:
        return engine_notes(value)


class StudyConfigField(RecordField):
    """The configuration of a study."""

    def __init__(self, **options: Any) -> None:
        models = (field.model for field in STUDY_FIELDS.values())
        help_text = "Of a study, with all defaults."
        super().__init__(*models, allow_null=True, help_text=help_text, **options)


def study_schemas() -> dict[str, Schema]:
    """Return the components of study configurations, and the components they refer to."""
    return schemas_of([field.model for field in STUDY_FIELDS.values()])


class BacktestErrorSerializer(DocumentSerializer):
    """The reason why a backtest failed."""

    code = CharField()
    message = CharField()


@example
class BacktestSerializer(AnswerSerializer):
    """A backtest; `performance`, `results` and `receipt` are null until it is completed.

    `config` and `results` of a plain backtest are always null.
    """

    id = IdTextField()
    algorithmId = IdTextField()
    algorithmVersion = IntegerField(help_text="The version of the steps at submission.")
    name = CharField()
    kind = ChoiceField(choices=BacktestKind, help_text=_KIND_HELP)
    status = ChoiceField(
        choices=BacktestStatus,
        help_text=(
            "`queued` and `running` continue; `completed` has a result, `failed` an `error`,"
            " `cancelled` neither."
        ),
    )
    progress = IntegerField(min_value=0, max_value=100, help_text="Percent.")
    estimatedSeconds = FloatField(
        source="estimated_seconds",
        allow_null=True,
        help_text="The estimated time of one worker, from past backtests of its kind; for a long"
        " study, measured at its start and shared by several workers. Null before the first one.",
    )
    startDate = CharField(help_text="The value as sent.")
    endDate = CharField(help_text="The value as sent.")
    symbols = serializers.ListField(child=CharField())
    timeframe = ChoiceField(choices=TIMEFRAMES)
    initialCapital = FloatField(help_text="Rupees.")
    config = StudyConfigField(source="study")
    performance = PerformanceField(BacktestPerformance, allow_null=True)
    results = FiguresField(
        WalkForwardResults,
        MonteCarloResults,
        OptimizationResults,
        source="study_results",
        allow_null=True,
        help_text="The results of a study, by its kind.",
    )
    error = BacktestErrorSerializer(allow_null=True, help_text="Null unless it failed.")
    createdAt = MomentField()
    startedAt = MomentField(allow_null=True, help_text="When a worker last began it; null before.")
    completedAt = MomentField(allow_null=True, help_text="The time of its end, with any status.")
    kept = BooleanField(source="is_kept", help_text="Whether its owner keeps it from expiring.")
    expiresAt = MomentField(
        source="expires_at",
        allow_null=True,
        help_text="When it is deleted with its result, unless it is kept or others are deleted"
        " before; null while the service keeps it.",
    )
    receipt = ReceiptField(source="*", allow_null=True)


class BacktestWarningSerializer(DocumentSerializer):
    """A warning about a setting in the request."""

    field = CharField()
    message = CharField()


@example
class WholeBacktestSerializer(BacktestSerializer):
    """A backtest as in a list, with its warnings and its breakdowns."""

    warnings = BacktestWarningSerializer(many=True, help_text="Settings that look like mistakes.")
    breakdowns = FiguresField(Breakdowns, allow_null=True, help_text="Null until it is completed.")

    def to_representation(self, instance: Backtest) -> dict[str, Any]:
        is_completed = instance.performance is not None
        breakdowns = results.load_breakdowns(instance) if is_completed else None
        return {
            **BacktestSerializer.render(instance),
            "warnings": list(_warnings(instance)),
            "breakdowns": round_for_wire(breakdowns),
        }


def _warnings(backtest: Backtest) -> Iterator[dict[str, str]]:
    if backtest.expires_at is not None:
        message = f"It is deleted on {indian_time(backtest.expires_at)} unless you keep it."
        yield {"field": "expiresAt", "message": message}
    if ends_in_future(backtest.end, submitted_at=backtest.created_at):
        message = f"{backtest.end_date} was in the future when the backtest was submitted:"
        yield {"field": "endDate", "message": f"{message} it ends with the last stored bar."}


@example
class TradeSerializer(RecordSerializer):
    record = ClosedTrade


@example
class EquitySerializer(DocumentSerializer):
    """The equity curve; empty before the backtest is completed."""

    points = RecordField(EquityPoint, many=True)


class ResultTable(TableRenderer):
    """The trades and the equity curve as CSV."""

    rows = {"data": ClosedTrade, "points": EquityPoint}


class ResultArrow(ArrowRenderer, ResultTable):
    """The trades and the equity curve as Arrow."""
