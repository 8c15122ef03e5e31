"""Drawings of a report that need no script: shapes and texts, which the template writes as SVG."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, floor, log10
from typing import Final, NamedTuple

WIDTH: Final = 1000
HEIGHT: Final = 300
LEFT: Final = 92
BOTTOM: Final = 40
TOP: Final = 12
RIGHT: Final = 12
_TICKS: Final = 5

FormatNumber = Callable[[float], str]
Point = tuple[float, float]


class Shape(NamedTuple):
    """A path of SVG, with the classes that colour it and the hint it shows."""

    css: str
    path: str
    title: str = ""
    opacity: float = 1.0


class Text(NamedTuple):
    x: float
    y: float
    text: str
    css: str = ""


@dataclass(frozen=True)
class Drawing:
    """Shapes, the later ones above the earlier, and texts, in pixels from the upper left corner."""

    label: str
    height: float = HEIGHT
    width: float = WIDTH
    shapes: list[Shape] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)

    def add(self, css: str, path: str, title: str = "", opacity: float = 1.0) -> None:
        self.shapes.append(Shape(css, path, title, round(opacity, 2)))

    def write(self, x: float, y: float, text: str, css: str = "") -> None:
        self.texts.append(Text(round(x, 1), round(y, 1), text, css))


class Scale(NamedTuple):
    """Maps values from `low` to `high` to pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return some values at distances of 1, 2 or 5 times a power of ten."""
        rough = (self.high - self.low) / _TICKS
        power: float = 10 ** floor(log10(rough))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
        first, last = ceil(self.low / step), floor(self.high / step)
        return [number * step for number in range(first, last + 1)]


def vertical_scale(values: Sequence[float], *, zero: bool = False) -> Scale:
    """Return a scale that includes the values, and 0 if `zero` is set."""
    low, high = min([*values, *([0.0] if zero else [])]), max([*values, *([0.0] if zero else [])])
    margin = (high - low) * 0.06 or abs(high) * 0.06 or 1.0
    return Scale(low - margin, high + margin, HEIGHT - BOTTOM, TOP)


def frame(drawing: Drawing, scale: Scale, format_number: FormatNumber) -> None:
    """Draw a line and a label at each tick of the vertical axis; zero stands out."""
    for tick in scale.ticks():
        y = scale(tick)
        css = "axis" if tick == 0 else "grid"
        drawing.add(css, f"M{LEFT} {y:.1f}H{WIDTH - RIGHT}")
        drawing.write(LEFT - 8, y + 4, format_number(tick), "end")


def line(points: Sequence[Point]) -> str:
    """Return the path of a line through the points."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def area_between(upper: Sequence[Point], lower: Sequence[Point]) -> str:
    """Return the path of the area between two lines."""
    return line([*upper, *reversed(lower)]) + "Z"


def box(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h{-width:.1f}Z"


def dot(x: float, y: float, radius: float) -> str:
    half = f"a{radius} {radius} 0 1 0"
    return f"M{x - radius:.1f} {y:.1f}{half} {2 * radius} 0{half} {-2 * radius} 0"


def fan_drawing(
    label: str,
    numbers: Sequence[float],
    lines: dict[str, Sequence[float]],
    *,
    bands: Sequence[tuple[str, str]],
    format_number: FormatNumber,
) -> Drawing:
    """Draw lines over the numbers, with their names as classes, and the areas between pairs of
    them.
    """
    drawing = Drawing(label)
    across = Scale(numbers[0], numbers[-1], LEFT, WIDTH - RIGHT)
    up = vertical_scale([value for values in lines.values() for value in values])
    frame(drawing, up, format_number)
    points = {
        name: [(across(x), up(y)) for x, y in zip(numbers, values, strict=True)]
        for name, values in lines.items()
    }
    for upper, lower in bands:
        drawing.add("area", area_between(points[upper], points[lower]))
    for name in lines:
        drawing.add(f"line {name}", line(points[name]))
    for tick in across.ticks():
        drawing.write(across(tick), HEIGHT - BOTTOM + 20, f"{tick:,.0f}", "middle")
    return drawing


class BarPair(NamedTuple):
    """Two values side by side, None for a missing one, with their hints."""

    name: str
    values: tuple[float | None, float | None]
    titles: tuple[str, str]


def paired_bars(label: str, pairs: Sequence[BarPair], *, format_number: FormatNumber) -> Drawing:
    """Draw the first value of each pair pale and the second one in full."""
    drawing = Drawing(label)
    up = vertical_scale(
        [value for pair in pairs for value in pair.values if value is not None], zero=True
    )
    frame(drawing, up, format_number)
    room = (WIDTH - LEFT - RIGHT) / len(pairs)
    width = min(room * 0.36, 46)
    for number, pair in enumerate(pairs):
        middle = LEFT + (number + 0.5) * room
        columns = ((middle - width - 1, "before"), (middle + 1, "after"))
        for (x, css), value, title in zip(columns, pair.values, pair.titles, strict=True):
            if value is not None:
                top, bottom = sorted((up(value), up(0)))
                tone = "gain" if value > 0 else "loss"
                drawing.add(f"{css} {tone}", box(x, top, width, max(bottom - top, 1)), title)
        drawing.write(middle, HEIGHT - BOTTOM + 20, pair.name, "middle")
    return drawing


class HeatCells(NamedTuple):
    """Values by column and row, None for missing ones, the labels of both, and the
    outlined cells.
    """

    columns: Sequence[str]
    rows: Sequence[str]
    values: Sequence[Sequence[float | None]]
    best: tuple[int, int]
    outlined: frozenset[tuple[int, int]]

    def numbers(self) -> list[float]:
        return [value for column in self.values for value in column if value is not None]


def heat_drawing(
    label: str, cells: HeatCells, *, falls: bool, format_number: FormatNumber
) -> Drawing:
    """Draw a cell for each value: gains and losses by their size, other values from the worst to
    the best; less is better if it `falls`.
    """
    row_height, numbers = 26, cells.numbers()
    height = TOP + len(cells.rows) * row_height + BOTTOM
    drawing = Drawing(label, height)
    column_width = min((WIDTH - LEFT - RIGHT) / len(cells.columns), 90)

    def corner(column: int, row: int) -> Point:
        return LEFT + column * column_width, TOP + (len(cells.rows) - 1 - row) * row_height

    tone_of = _tones(numbers, falls=falls)
    for column, values in enumerate(cells.values):
        for row, value in enumerate(values):
            x, y = corner(column, row)
            names = f"{cells.columns[column]}, {cells.rows[row]}".strip(", ")
            shape = box(x + 0.5, y + 0.5, column_width - 1, row_height - 1)
            if value is None:
                drawing.add("missing", shape, f"{names}: not tried")
                continue
            tone, opacity = tone_of(value)
            drawing.add(tone, shape, f"{names}: {format_number(value)}", opacity)
            if column_width >= 46:
                x += column_width / 2
                drawing.write(x, y + row_height / 2 + 4, format_number(value), "middle cell")
    drawing.add("outline", _outline(cells.outlined, corner, column_width, row_height))
    x, y = corner(*cells.best)
    drawing.add("best", box(x + 1.5, y + 1.5, column_width - 3, row_height - 3))
    every = ceil(44 / column_width)
    for column in range(0, len(cells.columns), every):
        x = corner(column, 0)[0] + column_width / 2
        drawing.write(x, height - BOTTOM + 18, cells.columns[column], "middle")
    for row, name in enumerate(cells.rows):
        drawing.write(LEFT - 8, corner(0, row)[1] + row_height / 2 + 4, name, "end")
    return drawing


def _tones(numbers: Sequence[float], *, falls: bool) -> Callable[[float], tuple[str, float]]:
    """Return a function from a value to its class and the strength of its colour."""
    low, high = min(numbers), max(numbers)
    largest = max(abs(low), abs(high)) or 1.0

    def by_sign(value: float) -> tuple[str, float]:
        return ("gain" if value > 0 else "loss"), 0.08 + 0.72 * abs(value) / largest

    def by_place(value: float) -> tuple[str, float]:
        share = (value - low) / ((high - low) or 1.0)
        return "level", 0.08 + 0.72 * (1 - share if falls else share)

    return by_sign if low < 0 else by_place


def _outline(
    cells: frozenset[tuple[int, int]],
    corner: Callable[[int, int], Point],
    width: float,
    height: float,
) -> str:
    """Return the edges between the cells and all others."""
    sides = (
        ((-1, 0), (0.0, 0.0, f"v{height}")),
        ((1, 0), (width, 0.0, f"v{height}")),
        ((0, 1), (0.0, 0.0, f"h{width:.1f}")),
        ((0, -1), (0.0, height, f"h{width:.1f}")),
    )
    edges = []
    for column, row in sorted(cells):
        x, y = corner(column, row)
        for (aside, above), (right, down, edge) in sides:
            if (column + aside, row + above) not in cells:
                edges.append(f"M{x + right:.1f} {y + down:.1f}{edge}")
    return "".join(edges)


def line_drawing(
    label: str,
    names: Sequence[str],
    values: Sequence[float | None],
    *,
    best: int,
    marked: frozenset[int],
    format_number: FormatNumber,
) -> Drawing:
    """Draw a line through the values, with dots; the best value and marked values stand out."""
    drawing = Drawing(label)
    up = vertical_scale([value for value in values if value is not None])
    frame(drawing, up, format_number)
    room = (WIDTH - LEFT - RIGHT) / len(values)
    points = [
        (number, LEFT + (number + 0.5) * room, up(value), value)
        for number, value in enumerate(values)
        if value is not None
    ]
    for start, end in pairwise(points):
        css = "line plateau" if {start[0], end[0]} <= marked else "line p50"
        drawing.add(css, line([start[1:3], end[1:3]]))
    for number, x, y, value in points:
        css = "spot best" if number == best else "spot plateau" if number in marked else "spot"
        drawing.add(
            css, dot(x, y, 5 if number == best else 3.5), f"{names[number]}: {format_number(value)}"
        )
    for number in range(0, len(names), ceil(44 / room)):
        x = LEFT + (number + 0.5) * room
        drawing.write(x, HEIGHT - BOTTOM + 20, names[number], "middle")
    return drawing
