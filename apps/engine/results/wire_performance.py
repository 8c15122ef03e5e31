"""The performance of a result, as it is stored and on the wire: its type follows the tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, Field, create_model
from typing_extensions import TypedDict

from apps.engine.kernel.reasons import (
    CHARGE_KINDS,
    OPTIONAL_REJECTIONS,
    REDUCTIONS,
    REJECTIONS,
    WAITS,
)
from apps.engine.results.table import LEAST_DAYS, METRICS, Metric
from apps.engine.units import Unit

_Rupees: TypeAlias = Annotated[float, Field(description="Rupees.")]
_Count: TypeAlias = Annotated[int, Field(ge=0)]
_SINCE_13: Final = "; absent from results of engine version 12 and before."


class ChargesByKind(TypedDict):
    """Charges in rupees."""

    brokerage: _Rupees
    transactionTax: _Rupees
    exchangeFee: _Rupees
    ipft: _Rupees
    sebiFee: _Rupees
    stampDuty: _Rupees
    gst: _Rupees
    depositoryCharge: _Rupees


def record_type(name: str, text: str, fields: dict[str, Any]) -> type[BaseModel]:
    """Return the type of a record whose fields a table lists."""
    model: type[BaseModel] = create_model(name, __doc__=text, **fields)
    return model


def _counts(
    name: str, text: str, names: Sequence[str], optional: Collection[str] = ()
) -> type[BaseModel]:
    fields = {counted: (_Count, None if counted in optional else ...) for counted in names}
    return record_type(name, text, fields)


def _figure(metric: Metric) -> Any:
    text = metric.description + (f" Null under {LEAST_DAYS} days." if metric.annual else "")
    number = _Count if metric.unit is Unit.COUNT else float
    return Annotated[number | None, Field(description=text)]


RejectedSignals: Final = _counts(
    "RejectedSignals",
    "How many signals for an entry led to none, by reason. Limits of the day and cooldowns are"
    " there if the algorithm sets them.",
    REJECTIONS,
    OPTIONAL_REJECTIONS,
)
ReducedEntries: Final = _counts(
    "ReducedEntries",
    f"Counts of entries smaller than their sizing, keyed by the tightest limit{_SINCE_13}",
    REDUCTIONS,
)
WaitingExits: Final = _counts(
    "WaitingExits",
    f"Counts of exits that waited at a locked price, and of their bars in all{_SINCE_13}",
    WAITS,
)
_COUNTED: Final = {
    "chargesByKind": CHARGE_KINDS,
    "rejectedSignals": REJECTIONS,
    "reducedEntries": REDUCTIONS,
    "waitingExits": WAITS,
}


def complete_performance(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored performance in the order of the tables; the database keeps another order.

    A metric that an earlier release did not compute is null, and 0 within an object.
    """
    return {name: stored.get(name) for name in METRICS} | {
        name: {
            kind: stored[name].get(kind, 0)
            for kind in kinds
            if kind in stored[name] or kind not in OPTIONAL_REJECTIONS
        }
        for name, kinds in _COUNTED.items()
        if name in stored
    }


BacktestPerformance: Final = record_type(
    "BacktestPerformance",
    "Figures of a result. A metric that cannot be computed is null, or 0 in a result without"
    " trades; a metric is also null in results of releases without it.",
    {name: (_figure(metric), ...) for name, metric in METRICS.items()}
    | {
        "chargesByKind": (ChargesByKind, ...),
        "rejectedSignals": (RejectedSignals, ...),
        "reducedEntries": (ReducedEntries, None),
        "waitingExits": (WaitingExits, None),
    },
)
