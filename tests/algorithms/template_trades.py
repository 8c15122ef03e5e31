"""Two trades of each template on the sample, a gain and a loss, for the drawings of the gallery.

`manage.py shell -c "from tests.algorithms.template_trades import write; write()"` writes the file
again after a change of a template.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from apps.algorithms.built_in_templates import BUILT_IN_TEMPLATES, TRADES_FILE, BuiltInTemplate
from apps.engine.candles import Candles
from apps.engine.language import parse
from apps.engine.simulation.simulate import SimulationResult
from apps.market.importers.generated_sample import SEED
from tests.market.sample_backtests import (
    Market,
    backtest_on_sample,
    sample_candles,
    sample_market,
)

MOST_POINTS: Final = 48
SPAN: Final = range(12, 160)  # bars from the first entry to the last exit


class Example(NamedTuple):
    """Trades of a symbol, its bars, and the rows of the bars with their entries and exits."""

    trades: Any
    bars: Candles
    rows: Any

    @property
    def span(self) -> int:
        return int(self.rows.max() - self.rows.min())


def trades_of(template: BuiltInTemplate, result: SimulationResult, market: Market) -> Any:
    """Return a price line, 0 to 100, and trades on it: the index of entry and exit in the line, the
    prices of both, and the side.
    """
    examples = list(_examples(template, result, market))
    first_short = (example for example in examples if example.span in SPAN)
    example = next(first_short, None) or min(examples, key=lambda example: example.span)
    rows, bars = example.rows, example.bars
    around = max(5, example.span // 6)
    start, end = max(0, rows.min() - around), min(len(bars) - 1, rows.max() + around)
    points = np.unique([*np.linspace(start, end, MOST_POINTS).astype(int), *rows.ravel()])
    fills = np.array([[trade["entry_price"], trade["exit_price"]] for trade in example.trades])
    prices = bars.close[points]
    low, high = min(prices.min(), fills.min()), max(prices.max(), fills.max())
    heights, fill_heights = (
        np.rint(100 * (values - low) / (high - low)).astype(int) for values in (prices, fills)
    )
    return {
        "prices": heights.tolist(),
        "trades": [
            [*np.searchsorted(points, pair).tolist(), *filled.tolist(), int(trade["side"])]
            for pair, filled, trade in zip(rows, fill_heights, example.trades, strict=True)
        ],
    }


def _examples(
    template: BuiltInTemplate, result: SimulationResult, market: Market
) -> Iterator[Example]:
    """Yield trades of a symbol that follow each other, a gain and a loss in either order."""
    for index, symbol in enumerate(result.symbols):
        trades = np.sort(result.trades[result.trades["symbol"] == index], order="entry_time")
        bars = sample_candles(market, symbol, template.timeframe)
        for pair in pairwise(trades):
            is_gain = [trade["gross"] > 0 for trade in pair]
            if is_gain[0] != is_gain[1] and pair[0]["exit_time"] <= pair[1]["entry_time"]:
                moments = [[trade["entry_time"], trade["exit_time"]] for trade in pair]
                yield Example(pair, bars, np.searchsorted(bars.time, moments, "right") - 1)


def write() -> None:
    market = sample_market(SEED)
    lines = []
    for template in BUILT_IN_TEMPLATES:
        result = backtest_on_sample(parse(template.steps), market)
        line = json.dumps(trades_of(template, result, market), separators=(",", ":"))
        lines.append(f'"{template.slug}": {line}')
    TRADES_FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
