"""Columns and programs in compiled passes; the same bits as those of `values` and `programs`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.extending import intrinsic
from numpy.typing import NDArray

from apps.engine.candles import Candles, address, frozen
from apps.engine.indicators.series import Column, Series
from apps.engine.kernel.records import Misfit
from apps.engine.signals import chains, values
from apps.engine.signals.chains import chain_of
from apps.engine.signals.programs import (
    Bits,
    Instruction,
    Op,
    Program,
    Spans,
    comparison,
)
from apps.engine.signals.values import Passes, size_of

if TYPE_CHECKING:
    from apps.engine.kernel.fills import Record
    from apps.engine.kernel.records import Array

TRUTH, BYTE, FLOAT = np.dtype(np.bool_), np.dtype(np.uint8), np.dtype(np.float64)
STRETCH: Final = 4096
"""Places of columns that all programs are run over before any goes on."""
NOWHERE: Final = 0
"""The address of no column."""
INSTRUCTION: Final = np.dtype([("op", "i8"), ("left", "i8"), ("right", "i8"), ("number", "f8")])
"""The addresses of its columns; the number stands for the one that is NOWHERE."""
PROGRAM: Final = np.dtype(
    [("bits", "i8"), ("bit", "u1"), ("begin", "i8"), ("end", "i8")], align=True
)
"""Of `bits` the address, and which instructions are its."""
AT_OR_ABOVE, CROSSES_ABOVE, TRUE, AND = 1, 2, 3, 4
"""As in `Op`: the cache of what is compiled notices changes in this file alone."""


def run(programs: Sequence[Program], spans: Spans) -> None:
    """As `programs.run`, stretch by stretch through all programs: what they share stays near.

    Raises Misfit where a column or the bits are of another kind, or shorter than the spans.
    """
    places, wanted = size_of(spans), int(spans[-1, 3] - spans[0, 2])
    written = [_written(one, places) for program in programs for one in program.instructions]
    ends = np.cumsum([len(one.instructions) for one in programs])
    listed = np.empty(len(programs), PROGRAM)
    listed["bits"] = [_address(one.bits, wanted, BYTE) for one in programs]
    listed["bit"] = [one.bit for one in programs]
    listed["begin"][0], listed["begin"][1:], listed["end"] = 0, ends[:-1], ends
    deepest = max(len(one.instructions) for one in programs)
    stack = np.empty((deepest, STRETCH), np.uint8)
    _run(listed, np.array(written, INSTRUCTION), spans, stack)


def _written(one: Instruction, places: int) -> tuple[int, int, int, float]:
    """An INSTRUCTION. Its columns must live until it has been carried out."""
    op, left, right = one
    number = right if isinstance(right, float) else left if isinstance(left, float) else 0.0
    kind = TRUTH if op is Op.TRUE else FLOAT
    return op, _address(left, places, kind), _address(right, places, kind), number


def _address(column: NDArray[Any] | float, least: int, kind: np.dtype[Any]) -> int:
    """Of a column of a kind that is so long at least; NOWHERE of a number."""
    if isinstance(column, float):
        return NOWHERE
    if len(column) < least or column.dtype != kind or not column.flags.c_contiguous:
        raise Misfit("A column is of another kind, shorter than the spans, or has gaps.")
    return address(column)


def _pointer(kind: types.Type) -> Callable[[int], Any]:
    """Makes, in compiled code, a pointer of an address: no list of columns can be handed over."""

    @intrinsic
    def pointer(typing, address):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(types.int64), code  # type: ignore[no-untyped-call]

    return cast(Callable[[int], Any], pointer)


_to_floats, _to_bytes = _pointer(types.float64), _pointer(types.uint8)


@njit(nogil=True, cache=True)
def _run(programs: Array, instructions: Array, spans: Spans, stack: Bits) -> None:
    number = np.empty(STRETCH)
    for _, kept, first, stop, place in spans:
        at, end, bar = place + first - kept, place + stop - kept, first - spans[0, 2]
        while at < end:
            rows = min(STRETCH, end - at)
            for program in programs:
                top = 0
                for i in range(program.begin, program.end):
                    top = _carry_out(instructions[i], at, top, stack, number[:rows])
                _mark(carray(_to_bytes(program.bits + bar), rows), program.bit, stack[0])
            at, bar = at + rows, bar + rows


@njit(nogil=True, cache=True)
def _carry_out(one: Record, at: int, top: int, stack: Bits, number: Column) -> int:
    """At as many places as `number` has, from one on; returns how many truths are on the stack."""
    rows = number.size
    if one.op >= AND:
        _join(one.op, stack[top - 2], stack[top - 1], rows)
        return top - 1
    into = stack[top]
    if one.op == TRUE:
        into[:rows] = carray(_to_bytes(one.left + at), rows)
        return top + 1
    if min(one.left, one.right) == NOWHERE:
        number[:] = one.number
    left, right = _places(one.left, at, number), _places(one.right, at, number)
    if one.op == CROSSES_ABOVE:
        begin = 1 if at == 0 else 0  # nothing crosses at the first place of all
        before, there = at - 1 + begin, number[begin:]
        into[:begin] = 0
        _cross(
            left[begin:], right[begin:], _places(one.left, before, there),
            _places(one.right, before, there), into[begin:],
        )  # fmt: skip
    else:
        _compare(left, right, one.op == AT_OR_ABOVE, into)
    return top + 1


@njit(nogil=True, cache=True)
def _places(address: int, at: int, number: Column) -> Column:
    """As many of a column as `number` has, which stands for one that is NOWHERE."""
    if address == NOWHERE:
        return number
    return carray(_to_floats(address + 8 * at), number.size)


@njit(nogil=True, cache=True)
def _cross(left: Column, right: Column, before: Column, beside: Column, into: Bits) -> None:
    for i in range(np.uint64(left.size)):
        into[i] = (left[i] > right[i]) & (before[i] <= beside[i])


@njit(nogil=True, cache=True)
def _compare(left: Column, right: Column, equal: bool, into: Bits) -> None:
    if equal:
        for i in range(np.uint64(left.size)):
            into[i] = left[i] >= right[i]
    else:
        for i in range(np.uint64(left.size)):
            into[i] = left[i] > right[i]


@njit(nogil=True, cache=True)
def _join(op: int, into: Bits, other: Bits, rows: int) -> None:
    for i in range(np.uint64(rows)):
        into[i] = into[i] & other[i] if op == AND else into[i] | other[i]


@njit(nogil=True, cache=True)
def _mark(bits: Bits, bit: int, truth: Bits) -> None:
    for i in range(np.uint64(bits.size)):
        bits[i] |= truth[i] * bit


@njit(nogil=True, cache=True)
def lay(laid: Column, place: int, part: Column) -> None:
    """As `values.lay`."""
    begin = np.uint64(place)
    for i in range(np.uint64(part.size)):
        value = part[i]
        laid[begin + i] = np.nan if np.isinf(value) else value


def _columns(series: Series, candles: Candles, spans: Spans) -> tuple[Column, ...]:
    """As `values.columns_of`."""
    chain = chain_of(series)
    if chain:
        return chain(series, candles, spans)
    return values.columns_of(series, candles, spans, lay=lay)


COMPILED: Final = Passes(_columns, run)
"""As `values.IN_NUMPY`."""


def warm_up() -> None:
    """Compile, or load what was compiled."""
    one = np.ones(2)
    for part in (one[1:], frozen(one)):  # a column of the candles is read-only
        lay(one, 0, part)
    crosses = comparison(one, "crosses_above", one)
    run([Program(np.zeros(1, np.uint8), 1, (crosses,))], np.array([[0, 0, 0, 1, 1]]))
    chains.warm_up()
