"""Backtests on the wire."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rest_framework import serializers

from apps.backtests import results
from apps.backtests.models import Backtest, BacktestKind
from apps.backtests.submissions import ends_in_future
from apps.core.api.serializers import (
    Body,
    ChoiceField,
    ListField,
    MomentField,
    NumberField,
    ObjectField,
    TextField,
)
from apps.engine.figures.fields import round_for_wire
from apps.engine.figures.metrics import METRICS
from apps.engine.kernel.reasons import CHARGE_KINDS, REJECTIONS

BACKTEST_KINDS = tuple(kind.value for kind in BacktestKind)
SORTS = {"createdAt": "created_at", "name": "name"}
"""What a list can be sorted by, and the column of each."""
BY_KIND: Final = {"chargesByKind": CHARGE_KINDS, "rejectedSignals": REJECTIONS}
"""Objects beside the figures of a performance, and their names in order."""


class SubmitIn(Body):
    """POST /api/backtests.

    `symbols`, `timeframe`, `initialCapital`, `slippage` and `charges` override the algorithm's.
    """

    refuses_unknown = True

    algorithmId = TextField(exact=True, max_length=100)
    startDate = TextField(exact=True, max_length=40)
    endDate = TextField(exact=True, max_length=40)
    kind = ChoiceField(choices=BACKTEST_KINDS, required=False)
    name = TextField(max_length=100, required=False)
    symbols = ListField(required=False)
    timeframe = TextField(exact=True, max_length=10, required=False)
    initialCapital = NumberField(min_value=1, max_value=1e12, required=False)
    slippage = NumberField(min_value=0, max_value=5, required=False)
    charges = ChoiceField(choices=("none", "standard"), required=False)
    walkForwardConfig = ObjectField(required=False)
    monteCarloConfig = ObjectField(required=False)
    optimizationConfig = ObjectField(required=False)


class RenameIn(Body):
    """PATCH /api/backtests/<id>."""

    refuses_unknown = True

    name = TextField(max_length=100)


class BacktestOut(serializers.ModelSerializer[Backtest]):
    """A backtest on the wire; `performance`, `results` and `receipt` are null until it is
    completed, `config` and `results` for a plain one always.
    """

    algorithmId = serializers.CharField(source="algorithm_id")
    algorithmVersion = serializers.IntegerField(source="algorithm_version")
    startDate = serializers.CharField(source="start_date")
    endDate = serializers.CharField(source="end_date")
    initialCapital = serializers.FloatField(source="initial_capital")
    config = serializers.JSONField(source="study")
    performance = serializers.SerializerMethodField()
    results = serializers.SerializerMethodField()
    createdAt = MomentField(source="created_at")
    startedAt = MomentField(source="started_at", allow_null=True)
    completedAt = MomentField(source="completed_at", allow_null=True)

    class Meta:
        model = Backtest
        fields = [
            "id", "algorithmId", "algorithmVersion", "name", "kind", "status", "progress",
            "startDate", "endDate", "symbols", "timeframe", "initialCapital", "config",
            "performance", "results", "error", "createdAt", "startedAt", "completedAt", "receipt",
        ]  # fmt: skip

    def get_performance(self, backtest: Backtest) -> dict[str, Any] | None:
        return None if backtest.performance is None else performance_out(backtest.performance)

    def get_results(self, backtest: Backtest) -> Any:
        """Any: JSON of many shapes."""
        return round_for_wire(backtest.study_results)


def backtest_out(backtest: Backtest) -> dict[str, Any]:
    """Any: JSON of many shapes."""
    return dict(BacktestOut(backtest).data)


def whole_out(backtest: Backtest) -> dict[str, Any]:
    """As in a list, with its `warnings` and its `breakdowns`, which are null until it is completed.
    Any: as above.
    """
    is_done = backtest.performance is not None
    return {
        **backtest_out(backtest),
        "warnings": list(_warnings(backtest)),
        "breakdowns": round_for_wire(results.load_breakdowns(backtest)) if is_done else None,
    }


def _warnings(backtest: Backtest) -> Iterator[dict[str, str]]:
    """What was probably not meant by the request."""
    if ends_in_future(backtest.end, submitted_at=backtest.created_at):
        message = f"{backtest.end_date} had not come when the backtest was asked for:"
        yield {"field": "endDate", "message": f"{message} it ends with the last bar that is held."}


def performance_out(figures: Mapping[str, Any]) -> dict[str, Any]:
    """In the order of the table, whatever the database keeps it in; null for a figure that was not
    told of when the result was made, and 0 of a kind. Any: numbers, None, counts, rupees by kind.
    """
    told = {name: figures.get(name) for name in METRICS}
    told |= {
        name: {kind: figures[name].get(kind, 0) for kind in kinds}
        for name, kinds in BY_KIND.items()
        if name in figures
    }
    return dict(round_for_wire(told))
