"""An explanation on the wire."""

from typing import Final

from apps.backtests.explain.services import Explanation
from apps.engine.explain import Finding, SideFound

MESSAGES: Final = {
    "entered": "A position was opened at the open of the next candle.",
    "no_signal": "The conditions of no side are true.",
    "both_sides": "The conditions of both sides are true, which is neither (engine rule 12).",
    "unknown_ranges": "An average true range that size or exits need is not known yet.",
    "position_held": "A position of this symbol was held; whether it was added to is not recorded.",
    "daily_loss_limit": "The loss of the day had reached maxDailyLoss.",
    "outside_session": "The next candle starts at or after the square-off.",
    "position_limit": "maxOpenPositions were held.",
    "end_of_data": "It is the last candle of the range.",
    "ruined": "Equity had fallen to zero and the simulation had ended.",
    "not_traded": "The order was not filled, for one of the possible reasons.",
}
"""By the verdict's reason."""


def explanation_out(explanation: Explanation) -> dict[str, object]:
    found = explanation.verdict
    return {
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
    }


def _side_out(side: SideFound) -> dict[str, object]:
    return {
        "side": side.side,
        "logicalOperator": side.operator,
        "signal": side.signal,
        "conditions": [
            {"condition": f"entryConditions.conditions[{place}]", **_finding_out(finding)}
            for place, finding in side.findings
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
