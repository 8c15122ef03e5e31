"""Checks as programs of a small stack machine: which bars an entry or exit is signalled at.

The programs of many strategies over the same bars are run in one pass: `run` is the plain way, and
`compiled.run` has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.indicators.series import Column

Truth = NDArray[np.bool_]
Bits = NDArray[np.uint8]
Spans = NDArray[np.int64]
"""Of each block, i8[blocks, 5]: the bars at which its array starts, from which values are kept,
which is the first wanted one, at which all stop; and the place in a column of the first that is
kept. Bars are counted from the start of the first array.
"""


MOST_HELD: Final = 128 * 2**20
"""Bytes of columns that programs which are not run yet keep from being freed, those they share
counted for each.
"""


class Op(IntEnum):
    """Pushes a truth, or makes one of the two that were pushed last."""

    ABOVE = 0
    AT_OR_ABOVE = 1
    CROSSES_ABOVE = 2
    TRUE = 3
    AND = 4
    OR = 5


class Instruction(NamedTuple):
    """ABOVE, AT_OR_ABOVE and CROSSES_ABOVE compare two columns, or a column and a number; TRUE has
    its truth in `left`.
    """

    op: Op
    left: Column | Truth | float = 0.0
    right: Column | float = 0.0

    @property
    def held(self) -> int:
        """Bytes of its columns."""
        found: int = getattr(self.left, "nbytes", 0) + getattr(self.right, "nbytes", 0)
        return found


class Program(NamedTuple):
    """Sets `bit` of `bits`, which begin at the first wanted bar, where it leaves a truth; `anew`
    clears all others.
    """

    bits: Bits
    bit: int
    instructions: tuple[Instruction, ...]
    anew: bool


Run = Callable[[Sequence[Program], Spans], None]
"""Of programs over columns that are laid out by the spans."""

COMPARISONS: Final = {
    "above": (Op.ABOVE, False),
    "below": (Op.ABOVE, True),
    "at_or_above": (Op.AT_OR_ABOVE, False),
    "at_or_below": (Op.AT_OR_ABOVE, True),
    "crosses_above": (Op.CROSSES_ABOVE, False),
    "crosses_below": (Op.CROSSES_ABOVE, True),
}
"""By the operator on the wire: the operation, and whether left and right change places."""


def comparison(left: Column, operator: str, right: Column | float) -> Instruction:
    op, turned = COMPARISONS[operator]
    return Instruction(op, right, left) if turned else Instruction(op, left, right)


def run(programs: Sequence[Program], spans: Spans) -> None:
    """In NumPy, one after the other."""
    for bits, bit, instructions, anew in programs:
        _mark(bits, bit, _left_by(instructions), spans, anew)


def _left_by(instructions: Sequence[Instruction]) -> Truth:
    stack: list[Truth] = []
    for one in instructions:
        match one.op:
            case Op.AND | Op.OR:
                last, before = stack.pop(), stack.pop()
                stack.append(before & last if one.op is Op.AND else before | last)
            case _:
                stack.append(truth_of(one))
    return stack[0]


def truth_of(one: Instruction) -> Truth:
    """Of an instruction that pushes one. A cross: above, and not so at the bar before."""
    left, right = one.left, one.right
    match one.op:
        case Op.ABOVE:
            return np.asarray(left > right)
        case Op.AT_OR_ABOVE:
            return np.asarray(left >= right)
        case Op.CROSSES_ABOVE:
            found = np.asarray(left > right)
            found[1:] &= _earlier(left) <= _earlier(right)
            found[:1] = False
            return found
    return np.asarray(left)


def _earlier(values: Column | Truth | float) -> Column | Truth | float:
    return values[:-1] if isinstance(values, np.ndarray) else values


def _mark(bits: Bits, bit: int, truth: Truth, spans: Spans, anew: bool) -> None:
    wanted = int(spans[0, 2])
    for _, kept, first, stop, place in spans.tolist():
        there = bits[first - wanted : stop - wanted]
        set_here = truth[place + first - kept : place + stop - kept] * np.uint8(bit)
        there[:] = set_here if anew else there | set_here


class Pending:
    """Programs of many strategies, which are run together; those that wait hold MOST_HELD, or what
    one program adds to it.
    """

    def __init__(self, run: Run) -> None:
        self._run, self._bytes = run, 0
        self._programs: dict[int, tuple[list[Program], Spans]] = {}

    def add(self, programs: Sequence[Program], spans: Spans) -> None:
        self._programs.setdefault(id(spans), ([], spans))[0].extend(programs)
        self._bytes += sum(one.held for program in programs for one in program.instructions)
        if self._bytes > MOST_HELD:
            self.run()

    def run(self) -> None:
        for programs, spans in self._programs.values():
            self._run(programs, spans)
        self._programs.clear()
        self._bytes = 0
