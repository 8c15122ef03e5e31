from datetime import date
from pathlib import Path

import pytest

from tests.benchmarks.side_by_side import Row
from tests.benchmarks.table import BEGIN, END, NoMarkers, table, write

README = Path(__file__).with_name("README.md")
ROWS = [Row("bars read", "1.00 ms", "20.00 ms", "20 (18 to 22)"), Row("a backtest", "90 ms")]


def test_the_table_has_a_line_for_each_row() -> None:
    text = table(ROWS, skipped=["no network"], on=date(2026, 11, 21))
    assert text.startswith("Measured on 2026-11-21: ")
    assert "| bars read | 1.00 ms | 20.00 ms | 20 (18 to 22) |" in text
    assert "| a backtest | 90 ms |  |  |" in text
    assert text.endswith("Not measured: no network.")


def test_the_readme_keeps_everything_around_the_table(tmp_path: Path) -> None:
    copy, readme = tmp_path / "README.md", README.read_text()
    copy.write_text(readme)
    write(copy, "one table")
    write(copy, "another table")
    before, remainder = readme.split(BEGIN)
    assert copy.read_text() == f"{before}{BEGIN}\nanother table\n{END}{remainder.split(END)[1]}"


def test_a_file_without_markers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("words\n")
    with pytest.raises(NoMarkers):
        write(path, "a table")
    assert path.read_text() == "words\n"
