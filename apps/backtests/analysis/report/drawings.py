"""Drawings of a report that need no script: shapes and texts, which the template writes as SVG."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, floor, log10
from typing import Final, NamedTuple

# The area of a drawing; it is stretched to the width of the page.
WIDTH: Final = 1000
HEIGHT: Final = 250
_TICKS: Final = 5
_MOST_COLUMN_NAMES: Final = 16

FormatNumber = Callable[[float], str]
Point = tuple[float, float]


class Shape(NamedTuple):
    """A path of SVG, with the classes that colour it and the hint it shows."""

    css: str
    path: str
    title: str = ""
    opacity: float = 1.0


class Text(NamedTuple):
    """A text in or beside the area, at percents of its width and height."""

    x: float
    y: float
    text: str
    css: str = ""


@dataclass(frozen=True)
class Drawing:
    """Shapes, the later ones above the earlier, and texts in the area, left of it and below it.

    Texts keep their size where the area is stretched.
    """

    label: str
    height: float = HEIGHT
    shapes: list[Shape] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    rows: list[Text] = field(default_factory=list)
    columns: list[Text] = field(default_factory=list)

    def add(self, css: str, path: str, title: str = "", opacity: float = 1.0) -> None:
        self.shapes.append(Shape(css, path, title, round(opacity, 2)))

    def write(self, x: float, y: float, text: str, css: str = "") -> None:
        self.texts.append(self._text(x, y, text, css))

    def name_row(self, y: float, text: str) -> None:
        self.rows.append(self._text(WIDTH, y, text))

    def name_column(self, x: float, text: str) -> None:
        """Write below the area; names near an edge stay within the drawing."""
        css = "first" if x < WIDTH * 0.04 else "last" if x > WIDTH * 0.96 else ""
        self.columns.append(self._text(x, 0, text, css))

    def _text(self, x: float, y: float, text: str, css: str = "") -> Text:
        return Text(round(x / WIDTH * 100, 2), round(y / self.height * 100, 2), text, css)


class Scale(NamedTuple):
    """Maps values from `low` to `high` to pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, count: int = _TICKS) -> list[float]:
        """Return about so many values at distances of 1, 2 or 5 times a power of ten."""
        rough = (self.high - self.low) / count
        power: float = 10 ** floor(log10(rough))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
        first, last = ceil(self.low / step), floor(self.high / step)
        return [number * step for number in range(first, last + 1)]


def vertical_scale(
    values: Sequence[float], *, zero: bool = False, panel: Point = (0, HEIGHT)
) -> Scale:
    """Return a scale that includes the values, and 0 if `zero` is set, between the top and the
    bottom of a panel.
    """
    low, high = min([*values, *([0.0] if zero else [])]), max([*values, *([0.0] if zero else [])])
    margin = (high - low) * 0.06 or abs(high) * 0.06 or 1.0
    return Scale(low - margin, high + margin, panel[1], panel[0])


def frame(
    drawing: Drawing, scale: Scale, format_number: FormatNumber, *, ticks: int = _TICKS
) -> None:
    """Draw a line and a label at each tick of the vertical axis; zero stands out."""
    for tick in scale.ticks(ticks):
        y = scale(tick)
        css = "axis" if tick == 0 else "grid"
        drawing.add(css, f"M0 {y:.1f}H{WIDTH}")
        drawing.name_row(y, format_number(tick))


def line(points: Sequence[Point]) -> str:
    """Return the path of a line through the points."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def area_between(upper: Sequence[Point], lower: Sequence[Point]) -> str:
    """Return the path of the area between two lines."""
    return line([*upper, *reversed(lower)]) + "Z"


def box(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h{-width:.1f}Z"


def dot(x: float, y: float) -> str:
    """Return a line without length: its round ends make a circle, however the area is stretched."""
    return f"M{x:.1f} {y:.1f}h0"


def fan_drawing(
    label: str,
    numbers: Sequence[float],
    lines: dict[str, Sequence[float]],
    *,
    bands: Sequence[tuple[str, str]],
    unit: str,
    format_number: FormatNumber,
) -> Drawing:
    """Draw lines over the numbers of a unit, with their names as classes, and the areas between
    pairs of them.
    """
    drawing = Drawing(label)
    across = Scale(numbers[0], numbers[-1], 0, WIDTH)
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
    first, *ticks = across.ticks()
    drawing.name_column(across(first), f"{first:,.0f} {unit}")
    for tick in ticks:
        drawing.name_column(across(tick), f"{tick:,.0f}")
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
    room = WIDTH / len(pairs)
    width = min(room * 0.36, 46)
    for number, pair in enumerate(pairs):
        middle = (number + 0.5) * room
        columns = ((middle - width - 1, "before"), (middle + 1, "after"))
        for (x, css), value, title in zip(columns, pair.values, pair.titles, strict=True):
            if value is not None:
                top, bottom = sorted((up(value), up(0)))
                tone = "gain" if value > 0 else "loss"
                drawing.add(f"{css} {tone}", box(x, top, width, max(bottom - top, 1)), title)
        if number % ceil(len(pairs) / _MOST_COLUMN_NAMES) == 0:
            drawing.name_column(middle, pair.name)
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
    height = len(cells.rows) * row_height
    drawing = Drawing(label, height)
    column_width = WIDTH / len(cells.columns)

    def corner(column: int, row: int) -> Point:
        return column * column_width, (len(cells.rows) - 1 - row) * row_height

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
                drawing.write(x, y + row_height / 2, format_number(value), "cell")
    drawing.add("outline", _outline(cells.outlined, corner, column_width, row_height))
    x, y = corner(*cells.best)
    drawing.add("best", box(x + 1.5, y + 1.5, column_width - 3, row_height - 3))
    for column in range(0, len(cells.columns), ceil(len(cells.columns) / _MOST_COLUMN_NAMES)):
        drawing.name_column((column + 0.5) * column_width, cells.columns[column])
    for row, name in enumerate(cells.rows):
        drawing.name_row(corner(0, row)[1] + row_height / 2, name)
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
    room = WIDTH / len(values)
    points = [
        (number, (number + 0.5) * room, up(value), value)
        for number, value in enumerate(values)
        if value is not None
    ]
    for start, end in pairwise(points):
        css = "line plateau" if {start[0], end[0]} <= marked else "line p50"
        drawing.add(css, line([start[1:3], end[1:3]]))
    for number, x, y, value in points:
        css = "spot best" if number == best else "spot plateau" if number in marked else "spot"
        drawing.add(css, dot(x, y), f"{names[number]}: {format_number(value)}")
    for number in range(0, len(names), ceil(len(names) / _MOST_COLUMN_NAMES)):
        drawing.name_column((number + 0.5) * room, names[number])
    return drawing
