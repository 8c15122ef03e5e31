"""The figures of evidence as drawings: rows of bars, and histograms."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from apps.backtests.analysis.report import formats
from apps.backtests.analysis.report.drawings import WIDTH, Drawing, Scale, box
from apps.engine.studies import ParameterPath

Json = Mapping[str, Any]  # as the engine wrote it

ROW_HEIGHT: Final = 34
DRAWN_PARAMETERS: Final = 10
_BAR_HEIGHT: Final = 9
_HISTOGRAM_HEIGHT: Final = 130
# The shares of the values between two percentiles of the engine.
_SHARES: Final = (4, 20, 25, 25, 20, 4)

_CONDITIONS: Final = {
    ("gap", "none"): "No gap",
    ("expiry", "expiry"): "Expiry days",
    ("expiry", "none"): "Days without an expiry",
}


class Bar(NamedTuple):
    """A bar from one value to another, with the classes that colour it."""

    start: float
    end: float
    css: str


class DrawnRow(NamedTuple):
    """Bars below their name and their values in words; `marks` are lines across them."""

    name: str
    text: str
    bars: Sequence[Bar]
    marks: Sequence[float] = ()


def _rupees(amount: float) -> str:
    return formats.format_rupees(amount, 0)


def row_drawing(
    label: str, rows: Sequence[DrawnRow], *, limits: Sequence[float] = (0.0,)
) -> Drawing:
    """Draw rows of bars on one scale, which includes the limits; zero is a line."""
    values = [*limits, *(mark for row in rows for mark in row.marks)]
    values += [value for row in rows for bar in row.bars for value in bar[:2]]
    low, high = min(values), max(values)
    across = Scale(low, high if high > low else low + 1, 0, WIDTH)
    drawing = Drawing(label, len(rows) * ROW_HEIGHT)
    for number, row in enumerate(rows):
        top = number * ROW_HEIGHT
        drawing.write(0, top + 9, row.name, "first")
        drawing.write(WIDTH, top + 9, row.text, "last")
        for bar in row.bars:
            start, end = sorted((across(bar.start), across(bar.end)))
            shape = box(start, top + 19, max(end - start, 2), _BAR_HEIGHT)
            drawing.add(bar.css, shape, f"{row.name}: {row.text}")
        drawing.add("axis", f"M{across(0):.1f} {top + 16}v{_BAR_HEIGHT + 6}")
        for mark in row.marks:
            drawing.add("mark", f"M{across(mark):.1f} {top + 16}v{_BAR_HEIGHT + 6}")
    return drawing


def histogram_drawing(label: str, percentiles: Json, *, own: float, name: str) -> Drawing | None:
    """Draw how amounts spread, by their percentiles, with a line at the result's own; None if they
    do not.
    """
    edges: list[float] = list(percentiles.values())
    if edges[0] == edges[-1]:
        return None
    low, high = min(edges[0], own, 0.0), max(edges[-1], own, 0.0)
    margin = (high - low) * 0.03
    across = Scale(low - margin, high + margin, 0, WIDTH)
    least = (high - low) / 100  # the width of percentiles that coincide
    heights = [
        share / max(end - start, least)
        for share, (start, end) in zip(_SHARES, pairwise(edges), strict=True)
    ]
    room = _HISTOGRAM_HEIGHT - 20
    drawing = Drawing(label, _HISTOGRAM_HEIGHT)
    for share, height, (start, end) in zip(_SHARES, heights, pairwise(edges), strict=True):
        tall = height / max(heights) * room
        shape = box(across(start), drawing.height - tall, across(end) - across(start), tall)
        drawing.add("level before", shape, f"{share}%: {_rupees(start)} to {_rupees(end)}")
    drawing.add("axis", f"M{across(0):.1f} 20V{drawing.height}M0 {drawing.height}H{WIDTH}")
    x = across(own)
    drawing.add("mark", f"M{x:.1f} 18V{drawing.height}")
    drawing.write(x, 9, f"{name} {_rupees(own)}", _anchor(x))
    ticks = across.ticks()
    for tick in ticks[:: len(ticks) // 4 + 1]:
        drawing.name_column(across(tick), _rupees(tick))
    return drawing


def _anchor(x: float) -> str:
    return "first" if x < WIDTH / 4 else "last" if x > WIDTH * 3 / 4 else ""


def _tone(value: float) -> str:
    return "gain" if value > 0 else "loss"


def _amount(name: str, amount: float, more: str = "") -> DrawnRow:
    return DrawnRow(name, _rupees(amount) + more, [Bar(0, amount, _tone(amount))])


def _costs(figures: Json, _: Json) -> list[Drawing | None]:
    left: float = figures["grossProfitAtSignalPrices"]
    rows = [_amount("Before costs", left)]
    kinds = sorted(figures["chargesByKind"].items(), key=lambda kind: -kind[1])
    for name, amount in (("slippage", figures["slippage"]), *kinds):
        if amount:
            bars = [Bar(left, left - amount, "loss before")]
            rows.append(DrawnRow(formats.humanize(name), _rupees(-amount), bars))
            left -= amount
    rows.append(_amount("Net profit", figures["netProfit"]))
    at_twice = [row["netProfit"] for row in figures["netProfitAtCosts"] if row["factor"] == 2]
    rows += [_amount("Net profit at twice the costs", amount) for amount in at_twice]
    return [row_drawing("From the profit before costs to the net profit", rows)]


def _charges_as_of(figures: Json, _: Json) -> list[Drawing | None]:
    if not figures["difference"]:
        return []
    paid, then = figures["paid"]["total"], figures["asOf"]["total"]
    rows = [
        DrawnRow("As paid", _rupees(paid), [Bar(0, paid, "level before")]),
        DrawnRow(f"With the rates of {figures['date']}", _rupees(then), [Bar(0, then, "level")]),
    ]
    return [row_drawing("Charges", rows)]


def _fills(figures: Json, _: Json) -> list[Drawing | None]:
    net = figures["netProfit"]
    worst, best = net["worst"], net["best"]
    if worst == best:
        return []
    band = DrawnRow(
        "Any order of prices",
        f"{_rupees(worst)} to {_rupees(best)}",
        [Bar(worst, best, "level before")],
        [net["rule"]],
    )
    rows = [
        band,
        _amount("As simulated", net["rule"]),
        _amount("By finer candles", net["resolved"]),
    ]
    return [row_drawing("Net profit by the order of prices within candles", rows)]


def _tradability(figures: Json, _: Json) -> list[Drawing | None]:
    shares = figures["volume"]["percentOfBar"]
    if shares is None:
        return []
    limit = figures["failsFromVolumeShare"] * 100
    row = DrawnRow(
        "Share of the candle's volume",
        f"median {shares['p50']:.2g}%, limit {limit:g}%",
        [
            Bar(shares["p5"], shares["p95"], "level before"),
            Bar(shares["p25"], shares["p75"], "level"),
        ],
        [limit],
    )
    return [row_drawing("The middle 90% and 50% of all fills; line: the limit", [row])]


def _significance(figures: Json, sections: Json) -> list[Drawing | None]:
    net, paths = sections["costs"]["figures"]["netProfit"], figures["paths"]
    rows = [_amount("All trades", net)]
    for row in figures["withoutBestTrades"]:
        trades = "the best trade" if row["trades"] == 1 else f"the {row['trades']} best trades"
        rows.append(_amount(f"Without {trades}", row["netProfit"]))
    best = row_drawing("Net profit without the best trades", rows)
    if paths is None:
        return [best]
    label = f"Net profit of {paths['count']:,} histories resampled from the same days"
    return [histogram_drawing(label, paths["netProfit"], own=net, name="This result"), best]


def _multiple_testing(figures: Json, _: Json) -> list[Drawing | None]:
    chances = [("Better than luck", figures["deflatedSharpeRatio"], figures["passesFrom"], "least")]
    if study := figures["overfitting"]:
        chances.append(("Study overfitted", study["probability"], study["passesUpTo"], "most"))
    rows = [
        DrawnRow(
            name,
            f"{share:.1%}, passes at {bound} {limit:.0%}",
            [Bar(0, share, "gain" if (share >= limit) == (bound == "least") else "loss")],
            [limit],
        )
        for name, share, limit, bound in chances
        if share is not None
    ]
    return [row_drawing("Probabilities; line: the limit", rows, limits=(0, 1))] if rows else []


def _timing(figures: Json, _: Json) -> list[Drawing | None]:
    if (test := figures["permutations"]) is None:
        return []
    count, share = test["count"], test["pValue"]
    label = f"Profit of {count:,} random timings before charges; {share:.1%} did as well"
    return [histogram_drawing(label, test["permuted"], own=test["grossProfit"], name="Real timing")]


def _regimes(figures: Json, _: Json) -> list[Drawing | None]:
    rows = []
    for kind in ("trend", "volatility", "gap", "expiry"):
        known = [row for row in figures[kind] if row["regime"] != "unknown"]
        for row in known if len(known) > 1 else ():
            trades = f" in {row['trades']:,} trade{'' if row['trades'] == 1 else 's'}"
            name = _CONDITIONS.get(
                (kind, row["regime"]), f"{formats.humanize(kind)}: {row['regime']}"
            )
            rows.append(_amount(name, row["netProfit"], trades))
    return [row_drawing("Net profit by market condition", rows)] if rows else []


def _sensitivity(figures: Json, _: Json) -> list[Drawing | None]:
    own, by_path = figures["netProfit"], dict[str, list[float]]()
    for change in figures["changes"]:
        if change["netProfit"] is not None:
            by_path.setdefault(change["path"], [own]).append(change["netProfit"])
    spans = sorted((min(nets), max(nets), path) for path, nets in by_path.items())
    rows = [
        DrawnRow(
            ParameterPath(path).words,
            f"{_rupees(low)} to {_rupees(high)}",
            [
                *([Bar(low, min(high, 0), "loss before")] if low < 0 else []),
                *([Bar(max(low, 0), high, "gain before")] if high > 0 else []),
            ],
            [own],
        )
        for low, high, path in spans[:DRAWN_PARAMETERS]
        if low < high
    ]
    if not rows:
        return []
    return [row_drawing("Net profit if one number changes by up to 20%; line: as tested", rows)]


_DRAWINGS: Final[Mapping[str, Callable[[Json, Json], list[Drawing | None]]]] = {
    "costs": _costs,
    "chargesAsOf": _charges_as_of,
    "fills": _fills,
    "tradability": _tradability,
    "significance": _significance,
    "multipleTesting": _multiple_testing,
    "timing": _timing,
    "regimes": _regimes,
    "sensitivity": _sensitivity,
}


def section_drawings(name: str, sections: Json) -> list[Drawing]:
    """Return the drawings of a section's figures; none where there is nothing to compare."""
    if name not in _DRAWINGS:
        return []
    drawings = _DRAWINGS[name](sections[name]["figures"], sections)
    return [drawing for drawing in drawings if drawing is not None]
