"""Output of the command line: tables for people, JSON for programs, a bar while they wait."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TextIO

_WIDTH_OF_BAR: Final = 30


@dataclass(frozen=True)
class Table:
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True)
class Terminal:
    """The output of commands: JSON if `is_json`, else text for a person."""

    is_json: bool
    output: TextIO
    errors: TextIO

    def show(self, answer: object, *blocks: str | Table) -> None:
        """Write an answer as JSON in one line, or as sentences and tables."""
        if self.is_json:
            print(json.dumps(answer, ensure_ascii=False), file=self.output, flush=True)
            return
        for block in blocks:
            if isinstance(block, Table):
                self._show_table(block)
            elif block:
                print(_printable(block), file=self.output, flush=True)

    def note(self, text: str) -> None:
        """Write a line beside the answer."""
        print(_printable(text), file=self.errors, flush=True)

    def show_progress(self, percent: int, status: str) -> None:
        """Draw a bar in place, on a terminal alone."""
        if self.errors.isatty():
            filled = "#" * (_WIDTH_OF_BAR * percent // 100)
            line = f"\r[{filled:-<{_WIDTH_OF_BAR}}] {percent:3} % {status:<10}"
            print(line, end="", file=self.errors, flush=True)

    def end_progress(self) -> None:
        if self.errors.isatty():
            print("\r\033[K", end="", file=self.errors, flush=True)

    def _show_table(self, table: Table) -> None:
        rows = [[_cell(value) for value in row] for row in table.rows]
        numbers = [
            bool(table.rows) and all(_is_number(row[index]) for row in table.rows)
            for index in range(len(table.columns))
        ]
        if self.output.isatty() and _show_rich(self.output, table.columns, rows, numbers):
            return
        lines = [list(table.columns), *rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            cells = [
                cell.rjust(width) if is_number else cell.ljust(width)
                for cell, width, is_number in zip(line, widths, numbers, strict=True)
            ]
            print("  ".join(cells).rstrip(), file=self.output)


def terminal(*, is_json: bool) -> Terminal:
    """Return the terminal of this process."""
    return Terminal(is_json or not sys.stdout.isatty(), sys.stdout, sys.stderr)


def _show_rich(
    output: TextIO, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[bool]
) -> bool:
    """Write a table by rich, if it is installed."""
    try:
        from rich import box, console, table, text
    except ImportError:
        return False
    drawn = table.Table(box=box.SIMPLE_HEAD)
    for name, is_number in zip(columns, numbers, strict=True):
        drawn.add_column(name, justify="right" if is_number else "left")
    for row in rows:
        drawn.add_row(*map(text.Text, row))  # a name is no markup
    console.Console(file=output).print(drawn)
    return True


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return _printable(str(value))


def _printable(text: str) -> str:
    """Replace characters that would steer the terminal: names come from other users too."""
    return "".join(char if char.isprintable() else "?" for char in text)


def in_words(data: Mapping[str, Any]) -> str:
    """Return the plain values of an event in one line, without ids."""
    plain = {
        name: value
        for name, value in data.items()
        if isinstance(value, str | int | float) and not name.endswith("Id")
    }
    return ", ".join(f"{name} {_cell(value)}" for name, value in plain.items())
