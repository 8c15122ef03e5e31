"""After a run of every benchmark, write the table to the file that `--table` names."""

from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.benchmarks import side_by_side, table

SKIPPED: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--table", type=Path, help="where to write what the benchmarks measured")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    made = yield
    if made.skipped and isinstance(made.longrepr, tuple):
        reason = str(made.longrepr[2]).removeprefix("Skipped: ")
        if reason not in SKIPPED:
            SKIPPED.append(reason)
    return made


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    path = session.config.getoption("--table", default=None)
    if path is None or exitstatus != pytest.ExitCode.OK:
        return
    today = datetime.now(tz=UTC).date()
    table.write(path, table.table(side_by_side.MEASURED, skipped=SKIPPED, on=today))
    print(f"\nthe table is in {path}")
