"""The results of a study as drawings, with sentences."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from apps.backtests.analysis.report import formats
from apps.backtests.analysis.report.drawings import (
    BarPair,
    Drawing,
    FormatNumber,
    HeatCells,
    fan_drawing,
    heat_drawing,
    line_drawing,
    paired_bars,
)
from apps.backtests.models import Backtest, BacktestKind, BacktestResult
from apps.engine.results import METRICS, Unit
from apps.engine.studies import MonteCarloConfig, ParameterPath

Json = Mapping[str, Any]  # as the engine wrote it


class StudyDrawing(NamedTuple):
    """A drawing, None without stored data, its description in sentences, and the texts of a table
    keyed by the names of its rows.
    """

    drawing: Drawing | None
    sentence: str
    caption: str = ""
    rows: Mapping[str, Sequence[str]] = MappingProxyType({})


def study_drawing(backtest: Backtest) -> StudyDrawing | None:
    """Return the drawing at the head of a study's report; None for a plain backtest."""
    findings: Json = backtest.study_results or {}
    rows = BacktestResult.objects.filter(pk=backtest.pk)
    chart: Json | None = rows.values_list("study_chart", flat=True).first()
    match BacktestKind(backtest.kind):
        case BacktestKind.WALK_FORWARD:
            return windows_drawing(findings)
        case BacktestKind.OPTIMIZATION:
            return parameters_drawing(findings, chart)
        case BacktestKind.MONTE_CARLO:
            return paths_drawing(findings, chart)
    return None


def _objective_format(unit: Unit) -> FormatNumber:
    """Return the formatter of an objective's unit: rupees without paise."""
    if unit is Unit.RUPEES:
        return lambda value: formats.format_rupees(value, 0)
    return lambda value: formats.format_metric(value, unit)


def windows_drawing(findings: Json) -> StudyDrawing:
    """Draw the objective of each window in-sample and out-of-sample; amounts per calendar day,
    because training takes longer than testing.
    """
    name: str = findings["objective"]
    by_day = METRICS[name].unit is Unit.RUPEES
    measure = f"{formats.humanize(name)} a day" if by_day else formats.humanize(name)

    text = _objective_format(METRICS[name].unit)

    def title(number: int, days: str, value: float | None) -> str:
        return f"Window {number}, {days}: {formats.NO_VALUE if value is None else text(value)}"

    spans = [
        (_objective_of(row["inSample"], by_day), _objective_of(row["outOfSample"], by_day))
        for row in findings["windows"]
    ]
    pairs = [
        BarPair(
            f"Window {number}" if number == 1 else f"{number}",
            (trained, tested),
            (title(number, "in-sample", trained), title(number, "out-of-sample", tested)),
        )
        for number, (trained, tested) in enumerate(spans, 1)
    ]
    complete = [values for values in spans if None not in values]
    drawing = paired_bars(f"{measure} by window", pairs, format_number=text) if complete else None
    caption = f"{measure} of each window. Pale: in-sample, on the days that chose its parameters."
    caption += " Full colour: out-of-sample, on the days after them."
    if by_day:
        caption += " Per calendar day, as training takes longer than testing."
    return StudyDrawing(drawing, _windows_sentence(spans, measure, text), caption)


def _objective_of(span: Json, by_day: bool) -> float | None:
    value: float | None = span["objective"]
    if value is None or not by_day:
        return value
    first, last = (datetime.fromisoformat(span[end]) for end in ("from", "to"))
    return value / ((last - first).days + 1)


def _windows_sentence(
    spans: Sequence[tuple[float | None, float | None]], measure: str, text: FormatNumber
) -> str:
    complete = [(trained, tested) for trained, tested in spans if None not in (trained, tested)]
    if not complete:
        return f"{measure} needs longer test windows. Choose net profit, or fewer windows."
    trained, tested = (
        text(sum(value or 0.0 for value in values) / len(complete))
        for values in zip(*complete, strict=True)
    )
    above = sum((value or 0.0) > 0 for _, value in complete)
    return (
        f"{measure} averages {tested} out-of-sample, and {trained} in-sample. {above} of"
        f" {len(complete)} test windows are above 0."
    )


def parameters_drawing(findings: Json, chart: Json | None) -> StudyDrawing:
    """Draw the objective over two parameters, or over a single one."""
    name: str = findings["objective"]
    best: Json = findings["ranking"][0]
    title, text = formats.humanize(name), _objective_format(METRICS[name].unit)
    objective = best["objective"]
    sentence = (
        f"{title} of the best of {findings['tried']:,} sets, in-sample:"
        f" {formats.NO_VALUE if objective is None else text(objective)}."
    )
    if chart is None:
        return StudyDrawing(None, sentence)
    columns, *rows = ([f"{value:g}" for value in values] for values in chart["values"])
    paths = [ParameterPath(path).words for path in chart["parameters"]]
    values, plateau = chart["objectives"], chart["plateau"]
    if not rows:
        marked = frozenset(cell for (cell,) in plateau)
        drawing = line_drawing(
            f"{title} by {paths[0]}",
            columns,
            values,
            best=chart["best"][0],
            marked=marked,
            format_number=text,
        )
        caption = f"{title} by {paths[0]}."
    else:
        height = len(rows[0])
        cells = HeatCells(
            columns,
            rows[0],
            [values[first : first + height] for first in range(0, len(values), height)],
            tuple(chart["best"]),
            frozenset(map(tuple, plateau)),
        )
        drawing = heat_drawing(
            f"{title} by {paths[0]} and {paths[1]}",
            cells,
            falls=METRICS[name].falls,
            format_number=text,
        )
        caption = (
            f"{title}; across: {paths[0]}, upwards: {paths[1]}.{_other_parameters(best, chart)}"
        )
    filled = sum(value is not None for value in values)
    return StudyDrawing(drawing, f"{sentence} {_plateau_sentence(len(plateau), filled)}", caption)


def _plateau_sentence(plateau: int, cells: int) -> str:
    if plateau == 1:
        return f"It stands alone: none of its neighbours is in the best quarter of {cells} cells."
    return f"Its plateau has {plateau} of {cells} cells: neighbours in the best quarter."


def _other_parameters(best: Json, chart: Json) -> str:
    further = [path for path in best["parameters"] if path not in chart["parameters"]]
    if not further:
        return ""
    named = ", ".join(
        f"{ParameterPath(path).words} {best['parameters'][path]:g}" for path in further
    )
    if chart["further"] == "best":
        return f" Other parameters as in the best set: {named}."
    return " Each cell is the median of all sets with its two values."


def paths_drawing(findings: Json, chart: Json | None) -> StudyDrawing:
    """Draw the spread of equity from trade to trade."""
    drawdown, ruin = findings["maxDrawdown"], findings["riskOfRuin"]
    sentence = (
        f"Max drawdown is under {formats.format_number(drawdown['p50'])}% in half of"
        f" {findings['runs']:,} paths, and under {formats.format_number(drawdown['p95'])}% in 95%"
        f" of them. Risk of ruin: {formats.format_number(ruin)}%."
    )
    if final := findings["finalEquity"]:
        sentence += (
            f" 5% of the paths end below {formats.format_rupees(final['p5'], 0)}, and 5% above"
            f" {formats.format_rupees(final['p95'], 0)}."
        )
    columns = [
        {"asTraded": findings["asTraded"][name], **findings[name]}
        for name in ("finalEquity", "maxDrawdown")
        if findings[name]
    ]
    units = [Unit.RUPEES, Unit.PERCENT][-len(columns) :]
    rows = {
        _percentile(name): [
            _objective_format(unit)(column[name])
            for column, unit in zip(columns, units, strict=True)
        ]
        for name in columns[0]
    }
    if chart is None:
        return StudyDrawing(None, sentence, rows=rows)
    names = ("p5", "p25", "p50", "p75", "p95", "asTraded")
    drawing = fan_drawing(
        "Equity of the paths by number of trades",
        chart["trades"],
        {name: chart[name] for name in names},
        bands=(("p95", "p5"), ("p75", "p25")),
        unit="trades",
        format_number=lambda value: formats.format_rupees(value, 0),
    )
    caption = (
        f"Equity by number of trades, from {MonteCarloConfig.FAN_PATHS:,} paths. Dark band: half of"
        " them; both bands: 90%. Line: the median; dashed: as traded."
    )
    return StudyDrawing(drawing, sentence, caption, rows)


def _percentile(name: str) -> str:
    """Write `p50` as "50% of paths below", and other names as words."""
    return f"{name[1:]}% of paths below" if name[1:].isdigit() else formats.humanize(name)
