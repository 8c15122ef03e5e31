"""An explanation on the wire."""

import math
from typing import Final

from apps.backtests.explain.services import Explanation, Lived
from apps.engine.figures.fields import round_for_wire
from apps.engine.simulation.explain import Finding, SideFound
from apps.engine.simulation.levels import Levels

MESSAGES: Final = {
    "entered": "A position was opened at the open of the next candle.",
    "no_signal": "The conditions of no side are true.",
    "both_sides": "The conditions of both sides are true, which is neither (engine rule 12).",
    "unknown_ranges": "An average true range that size or exits need is not known yet.",
    "position_held": "A position of this symbol was held; whether it was added to is not recorded.",
    "daily_loss_limit": "The loss of the day had reached maxDailyLoss.",
    "outside_session": "The next candle starts at or after the square-off.",
    "position_limit": "maxOpenPositions were held, or maxPositionSize left less than a lot.",
    "insufficient_cash": "Free cash did not pay for one lot and its charges.",
    "below_one_lot": "Its size came to less than one lot.",
    "limit_not_reached": "The next candle did not reach the price of the order.",
    "end_of_data": "It is the last candle of the range.",
    "ruined": "Equity had fallen to zero and the simulation had ended.",
    "not_traded": "The order was not filled, for one of the possible reasons.",
}
"""By the verdict's reason."""

HELD: Final = "held"
OF_POSITIONS: Final = {
    HELD: "It was held to the end of this candle.",
    "stop_loss": "Prices reached its stop in this candle, or opened beyond it.",
    "take_profit": "Prices reached its target in this candle, or opened beyond it.",
    "trailing_stop": "Prices reached its trailing stop in this candle, or opened beyond it.",
    "opposite_signal": "The opposite signal at the last candle before closed it at this open.",
    "signal": "The conditions of exits were true at the last candle before: closed at this open.",
    "square_off": "It was squared off, for the session was to end.",
    "max_holding": "It had lived through maxHoldingCandles, and was closed at this open.",
    "daily_loss_limit": "The loss of the day had reached maxDailyLoss: closed at this open.",
    "stopped": "It was asked to be closed, and was at this open.",
    "expiry": "The contract settled, at its last close.",
    "end_of_data": "The simulation ended, and it was closed at its last close.",
}
"""By what became of a position in the candle."""


def explanation_out(explanation: Explanation) -> dict[str, object]:
    found = explanation.verdict
    told: dict[str, object] = {
        "symbol": explanation.symbol,
        "timeframe": explanation.strategy.basicInfo.timeframe,
        "candle": explanation.candle,
        "confirmationCandles": explanation.strategy.entryConditions.confirmationCandles,
        "sides": [_side_out(side) for side in explanation.sides],
        "entry": {
            "reason": found.reason,
            "message": MESSAGES[found.reason],
            "side": found.side,
            "possibleReasons": list(found.possible),
            "trade": explanation.trade,
        },
        "positions": [_position_out(lived) for lived in explanation.positions],
    }
    return dict(round_for_wire(told))


def _side_out(side: SideFound) -> dict[str, object]:
    return {"side": side.side, **_conditions_out(side, "entryConditions")}


def _position_out(lived: Lived) -> dict[str, object]:
    reason = str(lived.trade["exitReason"]) if lived.ended else HELD
    return {
        "reason": reason,
        "message": OF_POSITIONS[reason],
        "trade": lived.trade,
        "levels": None if lived.levels is None else _levels_out(lived.levels),
        "oppositeSignal": lived.opposite,
        **_conditions_out(lived.conditions, "exitConditions"),
    }


def _levels_out(levels: Levels) -> dict[str, float | None]:
    names = ("stopLoss", "trailingStop", "takeProfit")
    return {
        name: None if math.isnan(price) else price
        for name, price in zip(names, levels, strict=True)
    }


def _conditions_out(found: SideFound, step: str) -> dict[str, object]:
    return {
        "logicalOperator": found.operator,
        "signal": found.signal,
        "conditions": [
            {"condition": f"{step}.conditions[{place}]", **_finding_out(finding)}
            for place, finding in found.findings
        ],
    }


def _finding_out(finding: Finding) -> dict[str, object]:
    return {
        "text": finding.text,
        "holds": finding.holds,
        "confirmed": finding.confirmed,
        "operands": [operand._asdict() for operand in finding.operands],
        "parts": [_finding_out(part) for part in finding.parts],
    }
