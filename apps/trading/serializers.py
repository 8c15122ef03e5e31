"""The bodies of the trading calls, and accounts and switches as they answer them."""

from dataclasses import dataclass
from typing import Any

from apps.algorithms.serializers import AlgorithmSerializer
from apps.core.api.serializers import Body, FlagField, TextField
from apps.core.times import wire_time
from apps.trading.models import MAX_REASON, KillSwitch
from apps.trading.services import StartResult, Statement


class StopBody(Body):
    refuses_unknown = True
    closePositions = FlagField(required=False)


def close_positions_in(data: Any) -> bool:
    """What a stop does with positions; it closes them unless told otherwise. Any: as of
    `Body.read`.
    """
    close: bool = StopBody.read(data).get("closePositions", True)
    return close


class KillSwitchBody(Body):
    refuses_unknown = True
    reason = TextField(required=False, allow_null=True, allow_blank=True, max_length=MAX_REASON)
    closePositions = FlagField(required=False)


@dataclass(frozen=True, slots=True)
class Emergency:
    """Why everything is to stop, and whether positions are to be closed."""

    reason: str
    close_positions: bool


def emergency_in(data: Any) -> Emergency:
    """Any: as of `Body.read`."""
    read = KillSwitchBody.read(data)
    return Emergency(read.get("reason") or "", read.get("closePositions", False))


def admitted_out(admitted: StartResult) -> dict[str, object]:
    """The algorithm, and beside its own fields the warnings."""
    warnings = [{"field": one.field, "message": one.message} for one in admitted.warnings]
    return {**AlgorithmSerializer.render(admitted.algorithm), "warnings": warnings}


def statement_out(statement: Statement) -> dict[str, object]:
    return {
        "balance": statement.balance,
        "reserved": statement.reserved,
        "available": statement.available,
        "equity": statement.equity,
        "currency": "INR",
    }


def switch_out(switch: KillSwitch) -> dict[str, object]:
    return {
        "active": switch.active,
        "since": wire_time(switch.since) if switch.since else None,
        "reason": switch.reason or None,
    }
