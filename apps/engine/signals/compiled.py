"""Columns and programs in compiled passes; the same bits as those of `values` and `programs`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from apps.engine.candles import Candles, address, frozen
from apps.engine.indicators.series import Column, Series
from apps.engine.kernel.records import Misfit
from apps.engine.signals import chains, values
from apps.engine.signals.chains import chain_of
from apps.engine.signals.programs import (
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

Words = NDArray[np.uint64]
TRUTH, BYTE, FLOAT = np.dtype(np.bool_), np.dtype(np.uint8), np.dtype(np.float64)
WORD: Final = 64
"""Places whose truths are the bits of a number, that of the first in the lowest one."""
STRETCH: Final = 32 * WORD
"""Places of columns that all programs are run over before any goes on."""
NOWHERE: Final = 0
"""The address of no column."""
INSTRUCTION: Final = np.dtype([("op", "i8"), ("left", "i8"), ("right", "i8"), ("number", "f8")])
"""The addresses of its columns; the number stands for the one that is NOWHERE."""
PROGRAM: Final = np.dtype(
    [("bits", "i8"), ("bit", "u1"), ("anew", "u1"), ("begin", "i8"), ("end", "i8")], align=True
)
"""Of `bits` the address, and which instructions are its."""
ONE = np.uint64(1)
AT_OR_ABOVE, CROSSES_ABOVE, TRUE, AND = 1, 2, 3, 4
"""As in `Op`: the cache of what is compiled notices changes in this file alone."""


def run(programs: Sequence[Program], spans: Spans) -> None:
    """As `programs.run`, stretch by stretch through all programs: what they share stays near.

    Raises Misfit where a column or the bits are of another kind, or shorter than the spans.
    """
    places, wanted = size_of(spans), int(spans[-1, 3] - spans[0, 2])
    listed, written = list[tuple[int, ...]](), list[tuple[int, int, int, float]]()
    addresses = _Addresses(places)
    for bits, bit, instructions, anew in programs:
        begin = len(written)
        written += [_written(one, addresses) for one in instructions]
        listed.append((_address(bits, wanted, BYTE), bit, anew, begin, len(written)))
    deepest = max(end - begin for *_, begin, end in listed)
    stack, numbers = np.empty((deepest, STRETCH // WORD), np.uint64), np.empty(WORD)
    _run(np.array(listed, PROGRAM), np.array(written, INSTRUCTION), spans, stack, numbers)


class _Addresses(dict[int, int]):
    """Addresses of columns of numbers, by identity: programs keep them alive, and share them."""

    def __init__(self, places: int) -> None:
        self.places = places

    def of(self, column: NDArray[Any] | float) -> int:
        found = self.get(id(column))
        if found is None:
            found = self[id(column)] = _address(column, self.places, FLOAT)
        return found


def _written(one: Instruction, addresses: _Addresses) -> tuple[int, int, int, float]:
    """An INSTRUCTION. Its columns must live until it has been carried out."""
    op, left, right = one
    if op is Op.TRUE:
        return op, _address(left, addresses.places, TRUTH), NOWHERE, 0.0
    number = right if isinstance(right, float) else left if isinstance(left, float) else 0.0
    return op, addresses.of(left), addresses.of(right), number


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


_inlined = njit(forceinline=True)
_to_floats, _to_bytes = _pointer(types.float64), _pointer(types.uint8)


def _compared(operator: str) -> Callable[[int, int], Any]:
    """Makes a word, in compiled code, of what is at two addresses: at once, as what LLVM makes of a
    loop takes two or three times as long, depending on what stands around it.
    """

    @intrinsic
    def compared(typing, left, right):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            numbers = ir.VectorType(ir.DoubleType(), WORD)
            places = [builder.inttoptr(one, numbers.as_pointer()) for one in arguments]
            left, right = (builder.load(place, align=8) for place in places)
            truths = builder.fcmp_ordered(operator, left, right)
            return builder.bitcast(truths, ir.IntType(WORD))

        return types.uint64(types.int64, types.int64), code

    return cast(Callable[[int, int], Any], compared)


_word_above, _word_at_or_above = _compared(">"), _compared(">=")


class _Stretch(NamedTuple):
    """The places of columns from one on, and the bits from a bar on: words of so many places."""

    at: int
    bar: int
    words: int
    size: int


@njit(nogil=True, cache=True)
def _run(programs: Array, instructions: Array, spans: Spans, stack: Words, numbers: Column) -> None:
    """`numbers` is a WORD of them, for the number that a column is compared with."""
    number = np.int64(numbers.ctypes.data)
    for _, kept, first, stop, place in spans:
        at, end, bar = place + first - kept, place + stop - kept, first - spans[0, 2]
        while end - at >= WORD:  # whole words: of a length that the compiler knows
            stretch = _Stretch(at, bar, min(stack.shape[1], (end - at) // WORD), WORD)
            _carry_out(programs, instructions, stretch, stack, number)
            at, bar = at + stretch.words * WORD, bar + stretch.words * WORD
        if at < end:
            rest = _Stretch(at, bar, 1, end - at)
            _carry_out(programs, instructions, rest, stack, number)


@_inlined
def _carry_out(
    programs: Array, instructions: Array, stretch: _Stretch, stack: Words, number: Any
) -> None:
    for program in programs:
        top = 0
        for i in range(program.begin, program.end):
            one = instructions[i]
            if one.op >= AND:
                top -= 1
                _join(one.op, stretch.words, stack[top - 1], stack[top])
                continue
            if one.op == TRUE:
                _take(one.left, stretch, stack[top])
            else:
                _compare(one, stretch, stack[top], number)
            top += 1
        _mark(program, stretch, stack[0])


@_inlined
def _compare(one: Record, stretch: _Stretch, into: Words, number: Any) -> None:
    """`number` is the address of a WORD of them, to be filled with that of the instruction."""
    if min(one.left, one.right) == NOWHERE:
        for i in range(WORD):
            _to_floats(number)[i] = one.number
    at, _, words, size = stretch
    left, left_step = (one.left + 8 * at, 8) if one.left else (number, 0)
    right, right_step = (one.right + 8 * at, 8) if one.right else (number, 0)
    if one.op != CROSSES_ABOVE:
        for word in range(words):
            if one.op == AT_OR_ABOVE:
                into[word] = _at_or_above(left, right, size)
            else:
                into[word] = _above(left, right, size)
            left, right = left + left_step * WORD, right + right_step * WORD
        return
    before = np.uint64(0)  # nothing crosses at the first place of all
    if at > 0:
        before = _at_or_above(right - right_step, left - left_step, 1)
    for word in range(words):
        not_above = _at_or_above(right, left, size)
        into[word] = _above(left, right, size) & (not_above << ONE | before)
        before = not_above >> np.uint64(WORD - 1)
        left, right = left + left_step * WORD, right + right_step * WORD


@_inlined
def _above(left: int, right: int, size: int) -> Any:
    """A word of what is at two addresses, or the first bits of one."""
    if size == WORD:
        return _word_above(left, right)
    word = np.uint64(0)
    for i in range(np.uint64(size)):
        word |= np.uint64(_to_floats(left)[i] > _to_floats(right)[i]) << i
    return word


@_inlined
def _at_or_above(left: int, right: int, size: int) -> Any:
    if size == WORD:
        return _word_at_or_above(left, right)
    word = np.uint64(0)
    for i in range(np.uint64(size)):
        word |= np.uint64(_to_floats(left)[i] >= _to_floats(right)[i]) << i
    return word


@_inlined
def _take(truth: int, stretch: _Stretch, into: Words) -> None:
    for word in range(stretch.words):
        there, found = _to_bytes(truth + stretch.at + word * WORD), np.uint64(0)
        for i in range(np.uint64(stretch.size)):
            found |= np.uint64(there[i]) << i
        into[word] = found


@_inlined
def _join(op: int, words: int, into: Words, other: Words) -> None:
    for word in range(words):
        into[word] = into[word] & other[word] if op == AND else into[word] | other[word]


@_inlined
def _mark(program: Record, stretch: _Stretch, truths: Words) -> None:
    bit = program.bit
    for word in range(stretch.words):
        there, truth = _to_bytes(program.bits + stretch.bar + word * WORD), truths[word]
        if program.anew:
            for i in range(np.uint64(stretch.size)):
                there[i] = np.uint8(truth >> i & ONE) * bit
        else:
            for i in range(np.uint64(stretch.size)):
                there[i] |= np.uint8(truth >> i & ONE) * bit


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
    run([Program(np.zeros(1, np.uint8), 1, (crosses,), anew=True)], np.array([[0, 0, 0, 1, 1]]))
    chains.warm_up()
