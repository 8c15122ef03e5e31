"""Algorithms on the wire."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import (
    Direction,
    extend_schema_field,
    extend_schema_serializer,
)
from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField, IntegerField

from apps.algorithms.algorithm_names import MAX_NAME
from apps.algorithms.configuration import STEPS, STRATEGY_TYPES
from apps.algorithms.lifecycle import LISTED_STATUSES, AlgorithmStatus
from apps.algorithms.performance import paper_performance
from apps.algorithms.performance.alerts import ACTIONS, LARGEST_THRESHOLD
from apps.algorithms.performance.last_execution import LastExecution
from apps.algorithms.serializers.schemas import DRAFT, step_refs
from apps.algorithms.study_results import (
    MOST_WALK_FORWARDS,
    KeptMonteCarlo,
    KeptWalkForward,
    with_engine_notes,
)
from apps.core.api.resources import (
    OBJECT,
    AnswerSerializer,
    ChoiceField,
    DocumentSerializer,
    FlagField,
    IdTextField,
    MomentField,
    NumberField,
    ObjectField,
    PaginationSerializer,
    RecordField,
    RecordSerializer,
    Schema,
    StrictSerializer,
    TextField,
    example,
)
from apps.engine.language import CatalogueIndicator, CataloguePattern
from apps.engine.results import METRICS, round_for_wire
from apps.market.candles import CoverageRow, SessionCoverage

MAX_FREE_OBJECT: Final = 16 * 1024
STATUS_HELP: Final = (
    "`draft`: a step is not complete; `stopped`: complete, and not running; `active`: it trades;"
    " `paused`: it enters nothing, and keeps its positions with their exits; `error`: it could not"
    " go on; `archived`: deleted."
)
# The sort fields of a list, and their columns.
SORTS: Final = {
    "name": "name",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "performance.totalTrades": "total_trades",
    "performance.winRate": "win_rate",
    "performance.totalProfit": "total_profit",
    "performance.profitFactor": "profit_factor",
}


class StepField(ObjectField):
    """A step; the document has it as a draft, whose parts may be missing, or as changes."""

    def __init__(self, step: str, *, form: str = DRAFT, **options: Any) -> None:
        super().__init__(**options)
        self.step = step
        self.form = form


class StepSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """The schema of a step in its form."""

    target_class = StepField

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        return step_refs(self.target.form)[self.target.step]


@extend_schema_field({"type": "object", "properties": step_refs(), "required": list(STEPS)})
class StepsField(ObjectField):
    """All steps, complete."""


@extend_schema_field(OBJECT)
class FreeField(ObjectField):
    """An object with any keys, stored unread."""

    def to_internal_value(self, data: object) -> dict[str, Any]:
        value = super().to_internal_value(data)
        if len(json.dumps(value)) > MAX_FREE_OBJECT:
            raise serializers.ValidationError(f"must take at most {MAX_FREE_OBJECT} bytes")
        return value


class FiguresField(RecordField):
    """Records with figures, rounded to the decimals of their units."""

    def to_representation(self, value: Any) -> Any:
        return round_for_wire(value)


class WalkForwardsField(FiguresField):
    """The walk-forwards that an algorithm keeps, newest last."""

    def to_representation(self, value: Any) -> Any:
        return super().to_representation(with_engine_notes(value, value.walk_forward_results))


class MonteCarloField(FiguresField):
    """The Monte Carlo simulation that an algorithm keeps."""

    def to_representation(self, value: Any) -> Any:
        if value.monte_carlo_results is None:
            return None
        [kept] = with_engine_notes(value, [value.monte_carlo_results])
        return super().to_representation(kept)


class CoverageField(RecordField):
    """The stored share of a range for each symbol."""

    def to_representation(self, value: Sequence[SessionCoverage]) -> list[CoverageRow]:
        return [coverage.to_wire() for coverage in value]


class PerformanceSerializer(DocumentSerializer):
    """The performance of an algorithm on paper, in rupees and percent.

    Drawdowns are of its equity; all other metrics are of closed trades. A ratio without a
    denominator is null, and 0 before the first closed trade.
    """

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {
            name: NumberField(allow_null=True, help_text=METRICS[name].description)
            for name in paper_performance.BEFORE_THE_FIRST_TRADE
        }

    def to_representation(self, instance: Mapping[str, float | None]) -> dict[str, Any]:
        rounded: dict[str, Any] = round_for_wire(paper_performance.in_order(instance))
        return rounded


def _step(name: str) -> StepField:
    return StepField(name, help_text=f"The step {name} as sent.")


def _stored_steps(sources: Mapping[str, str]) -> dict[str, StepField]:
    return {
        name: StepField(name, source=source, help_text="The value as sent.")
        for name, source in sources.items()
    }


@example
class AlgorithmSerializer(AnswerSerializer):
    """An algorithm.

    A body may contain the service's own fields, which are ignored, so a client can send an
    algorithm back.
    """

    id = IdTextField(read_only=True)
    userId = IdTextField(read_only=True, source="owner_id")
    name = TextField(max_length=MAX_NAME, help_text="`Algorithm #n` if absent.")
    description = CharField(help_text="Free text.")
    status = ChoiceField(read_only=True, choices=AlgorithmStatus, help_text=STATUS_HELP)
    active = BooleanField(read_only=True, help_text="Whether its status is `active`.")
    version = IntegerField(
        read_only=True,
        help_text="The number starts at 1 and grows by 1 with each change of the steps.",
    )
    basicInfo = _step("basicInfo")
    positionSizing = _step("positionSizing")
    entryConditions = _step("entryConditions")
    exitConditions = _step("exitConditions")
    riskParameters = _step("riskParameters")
    executionSettings = _step("executionSettings")
    performance = PerformanceSerializer(read_only=True)
    walkForwardConfig = FreeField(
        allow_null=True,
        help_text=(
            "The default for walk-forwards submitted without a configuration. Any keys are"
            " accepted, up to 16 KiB as JSON; a submission validates them."
        ),
    )
    walkForwardResults = WalkForwardsField(
        KeptWalkForward,
        many=True,
        read_only=True,
        source="*",
        help_text=f"The results, newest last; {MOST_WALK_FORWARDS} are kept. There are"
        " `notes` if an earlier engine made them and may have been wrong.",
    )
    monteCarloConfig = FreeField(
        allow_null=True,
        help_text=(
            "The default for Monte Carlo simulations submitted without a configuration. Any"
            " keys are accepted, up to 16 KiB as JSON; a submission validates them."
        ),
    )
    monteCarloResults = MonteCarloField(
        KeptMonteCarlo,
        read_only=True,
        allow_null=True,
        source="*",
        help_text="The results of its last Monte Carlo simulation, also with `notes`.",
    )
    isTemplate = FlagField(help_text="Whether it is among its owner's templates.")
    isPublic = FlagField(
        help_text="Whether it is among everybody's templates, to see and copy; needs isTemplate."
    )
    clonedFrom = IdTextField(
        read_only=True,
        allow_null=True,
        source="source_id",
        help_text="The algorithm or template that it is a copy of.",
    )
    lastExecution = FiguresField(
        LastExecution,
        read_only=True,
        allow_null=True,
        help_text="The last fill, or the limit that stopped an entry; null before the first.",
    )
    createdAt = MomentField(read_only=True)
    updatedAt = MomentField(read_only=True)


@extend_schema_serializer(component_name="Remark")
class IssueSerializer(AnswerSerializer):
    field = CharField(help_text="The dotted path of the setting.")
    message = CharField(help_text="The missing part, or the warning.")


class IssuesSerializer(AnswerSerializer):
    """The missing parts and the warnings from a review of an algorithm."""

    missingFields = serializers.ListField(
        child=ChoiceField(choices=STEPS),
        read_only=True,
        source="missing",
        help_text="The steps that are not complete.",
    )
    errors_ = IssueSerializer(
        many=True, read_only=True, help_text="The errors of these steps, by dotted path."
    )
    warnings = IssueSerializer(
        many=True, read_only=True, help_text="Settings that can be run, but look like mistakes."
    )


@example
class SavedAlgorithmSerializer(IssuesSerializer, AlgorithmSerializer):
    """An algorithm, with its missing parts and its warnings."""


@example
class AlgorithmBodySerializer(SavedAlgorithmSerializer):
    """The fields that a client may set, all optional.

    `apps.algorithms.serializers.schemas` adds the schemas of its steps to the document.
    """

    is_answer = False
    description = TextField(
        allow_null=True,
        allow_blank=True,
        lines=True,
        max_length=2000,
        help_text="Free text; null is as if it was absent.",
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        for field in fields.values():
            field.required = False
        return fields

    @classmethod
    def read(cls, data: Any) -> Any:
        """Return the requested `Changes`; null means absent where it is allowed."""
        return {name: value for name, value in super().read(data).items() if value is not None}


@example
class AlgorithmCopySerializer(StrictSerializer):
    name = TextField(
        required=False,
        max_length=MAX_NAME,
        help_text="The name of the copy; absent: the source's name with ` (copy)`.",
    )


class ListedPerformanceSerializer(AnswerSerializer):
    totalTrades = IntegerField(min_value=0, help_text=METRICS["totalTrades"].description)
    winRate = NumberField(allow_null=True, help_text=METRICS["winRate"].description)
    totalProfit = NumberField(help_text=METRICS["totalProfit"].description)
    profitFactor = NumberField(allow_null=True, help_text=METRICS["profitFactor"].description)

    def to_representation(self, instance: Any) -> dict[str, Any]:
        rounded: dict[str, Any] = round_for_wire(super().to_representation(instance))
        return rounded


@example
class AlgorithmItemSerializer(AnswerSerializer):
    """An algorithm in a list, without its steps."""

    id = IdTextField()
    name = CharField()
    status = ChoiceField(choices=AlgorithmStatus, help_text=STATUS_HELP)
    active = BooleanField(help_text="Whether its status is `active`.")
    strategyType = CharField(allow_null=True, help_text="Null if a draft has none yet.")
    timeframe = CharField(allow_null=True, help_text="Null if a draft has none yet.")
    symbols = serializers.ListField(child=CharField(), help_text="Each as EXCHANGE:SYMBOL.")
    performance = ListedPerformanceSerializer(source="*")
    createdAt = MomentField()
    updatedAt = MomentField()

    def to_representation(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        return super().to_representation({**instance, "symbols": instance["symbols"] or []})


@example
class TemplateSerializer(AlgorithmItemSerializer):
    """An algorithm to copy, with its steps. Of its owner only the display name is shown."""

    description = CharField()
    market = CharField(
        allow_null=True,
        help_text="Where a built-in template is traded, in words; null for templates of users.",
    )
    owner = CharField(
        source="owner__display_name",
        help_text="The name that its owner chose for others to see; empty without one, and for"
        " built-in templates.",
    )
    isPublic = BooleanField()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {**super().get_fields(), **_stored_steps(STEPS)}

    def to_representation(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        return super().to_representation({"market": None, **instance})


@example
class VersionSerializer(AnswerSerializer):
    """A configuration in the history of an algorithm."""

    version = IntegerField(source="number")
    current = BooleanField(source="is_current", help_text="Whether a start would run it.")
    createdAt = MomentField()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        steps = _stored_steps({name: f"configuration.{name}" for name in STEPS})
        return {**super().get_fields(), **steps}


class SentenceSerializer(AnswerSerializer):
    """A sentence about a setting."""

    field = CharField(help_text="The dotted path of the setting.")
    text = CharField(help_text="A sentence in English.")


class StepSummarySerializer(AnswerSerializer):
    """A step in words."""

    step = ChoiceField(choices=STEPS)
    isComplete = BooleanField(
        help_text="Whether the step is complete; if not, its missing parts are listed."
    )
    sentences = SentenceSerializer(
        many=True, source="shown", help_text="On what the step sets; none on what is off."
    )


class SettingChangeSerializer(AnswerSerializer):
    """The sentences about a setting that only one of two configurations has."""

    field = CharField(help_text="The dotted path of the setting.")
    before = serializers.ListField(
        child=CharField(),
        help_text=(
            "The value in the version `since`, in the first backtest, or without the changes."
        ),
    )
    after = serializers.ListField(
        child=CharField(),
        help_text="The value in this version, in the second backtest, or with the changes.",
    )


@example
class SummarySerializer(AnswerSerializer):
    """The steps of an algorithm in words."""

    algorithmId = IdTextField()
    version = IntegerField(help_text="The number of the version that is summarized.")
    steps = StepSummarySerializer(many=True, help_text="The summaries in the order of the steps.")


@example
class VersionSummarySerializer(SummarySerializer):
    """The steps of a version in words, and the changes since another version."""

    since = IntegerField(allow_null=True, help_text="The version it is compared with, if any.")
    changes = SettingChangeSerializer(many=True, help_text="Empty if nothing differs.")


MAX_VERSION: Final = 1_000_000
VERSION_NUMBER: Final[dict[str, Any]] = {
    "type": "integer",
    "minimum": 1,
    "maximum": MAX_VERSION,
    "examples": [1],
}


@extend_schema_field(VERSION_NUMBER)
class VersionNumberField(IntegerField):
    """The number of a version."""


class VersionSummaryQuery(StrictSerializer):
    """The version to compare with."""

    since = VersionNumberField(
        required=False,
        min_value=1,
        max_value=MAX_VERSION,
        help_text="The number of another version.",
    )


@example
class StatusChangeSerializer(AnswerSerializer):
    """A change of an algorithm's status."""

    from_ = ChoiceField(
        choices=AlgorithmStatus, allow_null=True, source="before", help_text="Null: it was created."
    )
    to = ChoiceField(choices=AlgorithmStatus, source="after")
    by = CharField(source="actor", help_text="The user's id, or system.")
    reason = CharField()
    at = MomentField()


@example
class PerformanceRecordSerializer(AnswerSerializer):
    """The performance of an algorithm, and the time of its last change."""

    performance = PerformanceSerializer()
    lastUpdated = MomentField(
        source="performance_updated_at",
        help_text="When it last changed; before the first change, when the algorithm was created.",
    )


class AlertSerializer(StrictSerializer):
    """The action when a metric passes a threshold."""

    has_snake_case_sources = False

    threshold = NumberField(
        min_value=0, max_value=LARGEST_THRESHOLD, help_text="The threshold in the metric's unit."
    )
    action = ChoiceField(
        choices=ACTIONS,
        help_text="`send_notification`: the event performance.alert is sent; `pause_algorithm`:"
        " that, and an active algorithm is paused.",
    )


class MetricAlertsSerializer(StrictSerializer):
    """The metrics that an alert may watch."""

    has_snake_case_sources = False

    maxDrawdown = AlertSerializer(
        required=False, help_text="When it rises to the threshold, in percent, or beyond."
    )
    profitFactor = AlertSerializer(
        required=False, help_text="When it falls to the threshold or below."
    )
    winRate = AlertSerializer(
        required=False, help_text="When it falls to the threshold, in percent, or below."
    )

    def to_representation(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        return dict(instance)


@example
class AlertsSerializer(StrictSerializer):
    """At most one alert for each metric."""

    alerts = MetricAlertsSerializer(help_text="Keyed by metric; an absent metric has no alert.")


@example
class ReviewSerializer(IssuesSerializer):
    """The problems that keep an algorithm from running, and warnings."""

    valid = BooleanField(help_text="True if the algorithm can be started.")
    coverage = CoverageField(
        CoverageRow,
        many=True,
        help_text=(
            "The stored history of each symbol, from its first day to yesterday, or to its"
            " newest bar if that is from today; then that of the symbols that conditions read."
            " Empty if the algorithm is not valid."
        ),
    )


@example
class CatalogueIndicatorSerializer(RecordSerializer):
    record = CatalogueIndicator


@example
class CataloguePatternSerializer(RecordSerializer):
    record = CataloguePattern


@extend_schema_serializer(many=False)
@example
class CataloguePageSerializer(DocumentSerializer):
    """A page of indicators, with all candle patterns on every page."""

    data_ = CatalogueIndicatorSerializer(many=True)
    pagination = PaginationSerializer()
    candlePatterns = CataloguePatternSerializer(many=True, help_text="All of them.")


class AlgorithmQuery(StrictSerializer):
    """The filters and the order of a list of algorithms."""

    status = ChoiceField(choices=LISTED_STATUSES, required=False, help_text="Only this status.")
    strategyType = ChoiceField(
        choices=STRATEGY_TYPES, required=False, help_text="Only this strategy type."
    )
    sort = ChoiceField(choices=SORTS, default="createdAt", help_text="The field to sort by.")
    order = ChoiceField(choices=("asc", "desc"), default="desc", help_text="The direction.")
