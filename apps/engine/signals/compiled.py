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
EIGHT, BITS = 8, ir.IntType(8)
NUMBERS = ir.VectorType(ir.DoubleType(), EIGHT)
"""Compared at once, and what comes of it."""
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
    stack, numbers = np.empty((deepest + 1, STRETCH // WORD), np.uint64), np.empty(WORD)
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


# What LLVM makes of loops over truths takes two to four times as long as these vectors.


def _compared(*operators: str) -> Callable[[Any, Any, Any, Any], None]:
    """Writes, in compiled code, a word of what is at two addresses for each operator: the last two
    addresses are those of the words. A byte at a time, as putting them together takes longer.
    """

    @intrinsic
    def compared(typing, left, right, into, other):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            *columns, into, other = arguments
            for byte in range(WORD // EIGHT):
                left, right = (
                    builder.load(_at(builder, column, NUMBERS, 8 * EIGHT * byte), align=8)
                    for column in columns
                )
                for operator, word in zip(operators, (into, other), strict=False):
                    truths = builder.fcmp_ordered(operator, left, right)
                    builder.store(builder.bitcast(truths, BITS), _at(builder, word, BITS, byte))
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), code

    return cast(Callable[[Any, Any, Any, Any], None], compared)


def _marked(*, anew: bool) -> Callable[[Any, Any, Any], None]:
    """Sets, in compiled code, a bit of the bytes of a word's places where its truths are; `anew`
    clears all others.
    """

    @intrinsic
    def marked(typing, word, bit, there):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            word, bit, there = arguments
            truths = builder.bitcast(word, ir.VectorType(ir.IntType(1), WORD))
            bits, first = ir.VectorType(BITS, WORD), ir.IntType(32)(0)
            one = builder.insert_element(ir.Constant(bits, ir.Undefined), bit, first)
            each = builder.shuffle_vector(one, one, ir.VectorType(first.type, WORD)([0] * WORD))
            found, place = builder.and_(builder.sext(truths, bits), each), _at(builder, there, bits)
            if not anew:
                found = builder.or_(found, builder.load(place, align=1))
            builder.store(found, place, align=1)
            return context.get_dummy_value()

        return types.void(types.uint64, types.uint8, types.int64), code

    return cast(Callable[[Any, Any, Any], None], marked)


def _at(builder: ir.IRBuilder, address: ir.Value, kind: ir.Type, offset: int = 0) -> ir.Value:
    """A pointer to what is some bytes behind an address."""
    place = builder.add(address, ir.Constant(address.type, offset))
    return builder.inttoptr(place, kind.as_pointer())


_word_above, _word_at_or_above = _compared(">"), _compared(">=")
_word_above_and_not = _compared(">", "<=")
_mark_word, _mark_word_anew = _marked(anew=False), _marked(anew=True)


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
    """The last row of the stack is for a comparison to work in."""
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
                _compare(one, stretch, stack[top], stack[-1], number)
            top += 1
        _mark(program, stretch, stack[0])


@_inlined
def _compare(one: Record, stretch: _Stretch, into: Words, not_above: Words, number: Any) -> None:
    """`number` is the address of a WORD of them, to be filled with that of the instruction."""
    if min(one.left, one.right) == NOWHERE:
        for i in range(WORD):
            _to_floats(number)[i] = one.number
    left, left_step = (one.left + 8 * stretch.at, 8) if one.left else (number, 0)
    right, right_step = (one.right + 8 * stretch.at, 8) if one.right else (number, 0)
    before = np.uint64(0)  # nothing crosses at the first place of all
    if one.op == CROSSES_ABOVE and stretch.at > 0:
        before = np.uint64(_to_floats(left - left_step)[0] <= _to_floats(right - right_step)[0])
    to, other = np.int64(into.ctypes.data), np.int64(not_above.ctypes.data)
    for word in range(stretch.words):
        if stretch.size < WORD:
            into[word], not_above[word] = _compare_some(one.op, left, right, stretch.size)
        else:
            _compare_word(one.op, left, right, to + 8 * word, other + 8 * word)
        left, right = left + left_step * WORD, right + right_step * WORD
    if one.op == CROSSES_ABOVE:
        for word in range(np.uint64(stretch.words)):
            into[word] &= not_above[word] << ONE | before
            before = not_above[word] >> np.uint64(WORD - 1)


@_inlined
def _compare_word(op: int, left: int, right: int, into: Any, not_above: Any) -> None:
    """What is at two addresses, into words at two others."""
    if op == CROSSES_ABOVE:
        _word_above_and_not(left, right, into, not_above)
    elif op == AT_OR_ABOVE:
        _word_at_or_above(left, right, into, not_above)
    else:
        _word_above(left, right, into, not_above)


@_inlined
def _compare_some(op: int, left: int, right: int, size: int) -> tuple[Any, Any]:
    """The first bits of both words."""
    into = not_above = np.uint64(0)
    for i in range(np.uint64(size)):
        a, b = _to_floats(left)[i], _to_floats(right)[i]
        into |= np.uint64(a >= b if op == AT_OR_ABOVE else a > b) << i
        not_above |= np.uint64(a <= b) << i
    return into, not_above


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
    for word in range(stretch.words):
        there, truth = program.bits + stretch.bar + word * WORD, truths[word]
        if stretch.size < WORD:
            _mark_some(program, _to_bytes(there), truth, stretch.size)
        elif program.anew:
            _mark_word_anew(truth, program.bit, there)
        else:
            _mark_word(truth, program.bit, there)


@_inlined
def _mark_some(program: Record, there: Any, truth: int, size: int) -> None:
    for i in range(np.uint64(size)):
        marked = np.uint8(truth >> i & ONE) * program.bit
        there[i] = marked if program.anew else there[i] | marked


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
