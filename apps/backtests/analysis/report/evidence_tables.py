"""The evidence on a backtest as a page shows it: each section with its check, its drawings, and its
figures as small tables.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from apps.backtests.analysis.report import formats
from apps.backtests.analysis.report.drawings import Drawing
from apps.backtests.analysis.report.evidence_drawings import section_drawings
from apps.engine.evidence import SECTION_TITLES, CheckStatus
from apps.engine.results import FIELD_UNITS, Unit

Json = Mapping[str, Any]  # as the engine wrote it

# Rows of one table; a section may have a hundred neighbours or months.
MAX_ROWS: Final = 24
_UNITS: Final[Mapping[str, Unit]] = {
    **FIELD_UNITS,
    "rupees": Unit.RUPEES,
    "slippage": Unit.RUPEES,
    "worst": Unit.RUPEES,
    "median": Unit.RUPEES,
    "permuted": Unit.RUPEES,
    "grossProfitAtSignalPrices": Unit.RUPEES,
    "paid": Unit.RUPEES,
    "asOf": Unit.RUPEES,
    "difference": Unit.RUPEES,
    "netProfitAsOf": Unit.RUPEES,
    "largestCapital": Unit.RUPEES,
    "lostBeyondStops": Unit.RUPEES,
    "percentADay": Unit.PERCENT,
    "trades": Unit.COUNT,
    "probabilisticSharpeRatio": Unit.RATIO,
}


class FigureTable(NamedTuple):
    """Texts in rows under the columns' names; the first text of a row names it.

    `left_out` counts the rows that are not shown.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    left_out: int = 0


class ShownSection(NamedTuple):
    """A section; `status` and `reason` are its check's, empty if it has none."""

    name: str
    title: str
    status: str
    reason: str
    sentence: str
    drawings: list[Drawing]
    tables: list[FigureTable]
    not_looked_at: Sequence[str]


class ShownEvidence(NamedTuple):
    """The document of ready evidence; `is_unjudged` if its prices are not those of a market."""

    passes: bool
    is_unjudged: bool
    sentence: str
    sections: list[ShownSection]


def shown_evidence(document: Json) -> ShownEvidence:
    checks, sections = {row["name"]: row for row in document["checks"]}, document["sections"]
    return ShownEvidence(
        document["verdict"]["passes"],
        any(check["status"] == CheckStatus.NOT_JUDGED for check in checks.values()),
        document["verdict"]["sentence"],
        [
            ShownSection(
                name,
                title,
                checks.get(name, {}).get("status", ""),
                checks.get(name, {}).get("reason", ""),
                sections[name]["sentence"],
                section_drawings(name, sections),
                figure_tables(sections[name]["figures"]),
                sections[name]["notLookedAt"],
            )
            for name, title in SECTION_TITLES.items()
            if name in sections
        ],
    )


def figure_tables(figures: Json, unit: Unit = Unit.RATIO, title: str = "") -> list[FigureTable]:
    """Return the single figures as one table, and one for each object and list below them."""
    single = [
        [formats.humanize(name), _text(value, _unit(name, unit))]
        for name, value in figures.items()
        if not isinstance(value, Mapping | list)
    ]
    tables = [FigureTable(title, [], single)] if single else []
    for name, value in figures.items():
        below = f"{title}: {formats.humanize(name)}" if title else formats.humanize(name)
        if isinstance(value, Mapping):
            tables += figure_tables(value, _unit(name, unit), below)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            tables.append(_listed(below, value))
        elif isinstance(value, list) and value:
            tables.append(FigureTable(below, [], [[_text(value, unit)]]))
    return tables


def _listed(title: str, rows: Sequence[Json]) -> FigureTable:
    """Return one row for each object of a list, of its single figures and lists of words."""
    names = [name for name, value in rows[0].items() if not isinstance(value, Mapping)]
    return FigureTable(
        title,
        [formats.humanize(name) for name in names],
        [[_text(row.get(name), _unit(name)) for name in names] for row in rows[:MAX_ROWS]],
        max(len(rows) - MAX_ROWS, 0),
    )


def _unit(name: str, unit: Unit = Unit.RATIO) -> Unit:
    return _UNITS.get(name, unit)


def _text(value: object, unit: Unit) -> str:
    match value:
        case None:
            return formats.NO_VALUE
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(str, value))
        case int() if unit is not Unit.RUPEES:
            return f"{value:,}"
        case int() | float() if unit in (Unit.RUPEES, Unit.PERCENT):
            return formats.format_metric(float(value), unit)
        case float():
            return formats.format_number(value, 3)
    return str(value)
