"""Templates of the project: well-known strategies, each a file of `templates/`, in their order.

They belong to no user and are no rows. The gallery and the list of templates show them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypedDict

from apps.algorithms.configuration import STEPS
from apps.algorithms.lifecycle import AlgorithmStatus
from apps.algorithms.performance.paper_performance import BEFORE_THE_FIRST_TRADE

_FILES: Final = Path(__file__).parent / "templates"
TRADES_FILE: Final = Path(__file__).parent / "template_trades.json"
_ADDED: Final = datetime(2026, 11, 28, tzinfo=UTC)
_PERFORMANCE: Final = {
    column: BEFORE_THE_FIRST_TRADE[metric]
    for column, metric in {
        "total_trades": "totalTrades",
        "win_rate": "winRate",
        "total_profit": "totalProfit",
        "profit_factor": "profitFactor",
    }.items()
}


class ExampleTrades(TypedDict):
    """A gain and a loss on the sample's made-up prices, for a drawing.

    `prices` is a line from 0 to 100. Of each trade there are the indexes of entry and exit in the
    line, the prices of both, and the side: 1 or -1.
    """

    prices: list[int]
    trades: list[tuple[int, int, int, int, int]]


@dataclass(frozen=True)
class BuiltInTemplate:
    """A strategy of the project; `market` says in words where it is traded."""

    slug: str
    name: str
    description: str
    market: str
    steps: Mapping[str, Any]
    example: ExampleTrades

    @cached_property
    def id(self) -> str:
        """An id that stays; it is as old as none of the database."""
        return f"00000000{sha256(self.slug.encode()).hexdigest()[:16]}"

    @property
    def style(self) -> str:
        return str(self.steps["basicInfo"]["strategyType"]).replace("_", " ")

    @property
    def timeframe(self) -> str:
        return str(self.steps["basicInfo"]["timeframe"])

    @property
    def sides(self) -> str:
        """The sides that it trades, in words."""
        side = self.steps["entryConditions"]["positionType"]
        return "long and short" if side == "both" else f"{side} only"

    @property
    def columns(self) -> dict[str, Any]:
        """The description and the steps, as columns of an algorithm."""
        steps = {column: self.steps[wire] for wire, column in STEPS.items()}
        return {"description": self.description, **steps}

    @property
    def row(self) -> dict[str, Any]:
        """The row of a list of templates."""
        basics = self.steps["basicInfo"]
        return {
            **self.columns,
            **_PERFORMANCE,
            "id": self.id,
            "name": self.name,
            "market": self.market,
            "status": AlgorithmStatus.STOPPED.value,
            "active": False,
            "strategy_type": basics["strategyType"],
            "timeframe": self.timeframe,
            "symbols": basics["symbols"],
            "created_at": _ADDED,
            "updated_at": _ADDED,
            "is_public": True,
            "owner__display_name": "",
        }


def _read(path: Path) -> BuiltInTemplate:
    """Read a file, named by a number that orders it and its slug."""
    slug = path.stem.partition("-")[2]
    return BuiltInTemplate(slug, **json.loads(path.read_text("utf-8")), example=_EXAMPLES[slug])


_EXAMPLES: Final[Mapping[str, ExampleTrades]] = json.loads(TRADES_FILE.read_text("utf-8"))
BUILT_IN_TEMPLATES: Final = tuple(map(_read, sorted(_FILES.glob("*.json"))))
BUILT_IN_BY_ID: Final = {template.id: template for template in BUILT_IN_TEMPLATES}
