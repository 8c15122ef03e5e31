"""The table of figures in the engine's README is the one in `apps.engine.results`."""

from pathlib import Path

from apps.engine.results.table import METRICS, Metric

README = Path(__file__).parents[2] / "apps" / "engine" / "README.md"


def row(name: str, metric: Metric) -> str:
    unit = f"{metric.unit}, year" if metric.annual else str(metric.unit)
    return f"| `{name}` | {unit} | {metric.text} |"


def table() -> str:
    rows = [row(name, metric) for name, metric in METRICS.items()]
    return "\n".join(["| Figure | Unit | |", "|---|---|---|", *rows])


def test_the_readme_has_every_figure_with_its_unit_and_meaning() -> None:
    text = README.read_text()
    begin, end = "<!-- figures -->\n", "\n<!-- /figures -->"
    assert text[text.index(begin) + len(begin) : text.index(end)] == table()
