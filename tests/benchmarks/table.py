"""The table of measurements in the README: this run's measurements as text."""

import os
import platform
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from tests.benchmarks.side_by_side import Row

BEGIN, END = "<!-- bench -->", "<!-- /bench -->"


class NoMarkers(Exception):
    """The file has no markers for the table."""


def table(rows: Sequence[Row], *, skipped: Sequence[str], on: date) -> str:
    """Return Markdown: the date and the machine, the rows, and the reasons of missing ones."""
    lines = [f"Measured on {on.isoformat()}: {machine()}.", ""]
    lines += ["| One against another | One | Another | Times as fast |", "|---|---|---|---|"]
    lines += [f"| {row.name} | {row.first} | {row.other} | {row.ratio} |" for row in rows]
    lines += [line for reason in skipped for line in ("", f"Not measured: {reason}.")]
    return "\n".join(lines)


def machine() -> str:
    """Return the processor's name, the number of cores, and the Python."""
    return f"{os.cpu_count()} cores of {_processor()}, Python {platform.python_version()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def write(path: Path, text: str) -> None:
    """Replace the text between the markers. Raises NoMarkers."""
    before, begin, remainder = path.read_text().partition(BEGIN)
    _, end, after = remainder.partition(END)
    if not begin or not end:
        raise NoMarkers(f"{path} has no {BEGIN} ... {END}")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
