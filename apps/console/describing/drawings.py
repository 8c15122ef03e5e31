"""The drawing of a template of the gallery: two trades on made-up prices, a gain and a loss."""

from dataclasses import dataclass
from typing import Final

from apps.algorithms.services import BuiltInTemplate

_WIDTH: Final = 240
_HEIGHT: Final = 72
_MARGIN: Final = 8
_SIDES: Final = {1: "Bought", -1: "Sold short"}


@dataclass(frozen=True, slots=True)
class TradeMark:
    """A trade: a line from entry to exit, and a triangle at the entry that points to its side."""

    line: str
    entry: str
    is_gain: bool
    label: str


@dataclass(frozen=True, slots=True)
class TradeDrawing:
    """The points of the price line, and the trades on it, in the SVG's units."""

    prices: str
    trades: tuple[TradeMark, ...]

    @property
    def label(self) -> str:
        return f"Example on made-up prices. {' '.join(trade.label for trade in self.trades)}"


def draw(template: BuiltInTemplate) -> TradeDrawing:
    example = template.example
    last = len(example["prices"]) - 1

    def at(index: int, price: int) -> tuple[int, int]:
        across = _MARGIN + round(index * (_WIDTH - 2 * _MARGIN) / last)
        return across, _MARGIN + round((100 - price) * (_HEIGHT - 2 * _MARGIN) / 100)

    points = (at(index, price) for index, price in enumerate(example["prices"]))
    marks = []
    for entry, end, entry_price, end_price, side in example["trades"]:
        (x, y), (end_x, end_y) = at(entry, entry_price), at(end, end_price)
        is_gain = (end_price - entry_price) * side > 0
        marks.append(
            TradeMark(
                line=f"M{x} {y}L{end_x} {end_y}",
                entry=f"M{x} {y}l-5 {side * 8}h10z",
                is_gain=is_gain,
                label=f"{_SIDES[side]}, left with a {'gain' if is_gain else 'loss'}.",
            )
        )
    return TradeDrawing(" ".join(f"{x},{y}" for x, y in points), tuple(marks))
