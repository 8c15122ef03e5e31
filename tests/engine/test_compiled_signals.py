"""Compiled passes over columns find the bits that NumPy finds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.series import Column, over, series
from apps.engine.kernel.records import Misfit
from apps.engine.signals import compiled, programs, values
from apps.engine.signals.compiled import COMPILED
from apps.engine.signals.programs import (
    COMPARISONS,
    Instruction,
    Op,
    Pending,
    Program,
    Spans,
    comparison,
)
from apps.engine.signals.values import IN_NUMPY, Lay
from tests.benchmarks.walks import session_bars

LENGTHS = (1, 2, 63, 64, 65, 1000, 2 * compiled.STRETCH + 1)
WHOLE = {length: np.array([[0, 0, 0, length, 0]]) for length in LENGTHS}


def both_ways(instructions: Sequence[Instruction], spans: Spans, wanted: int) -> list[list[int]]:
    """The bits that a program sets, compiled and in NumPy, where one is set before. Where it sets
    them anew that one is cleared in the bars of the spans.
    """
    found, reached = [], np.zeros(wanted, np.bool_)
    for _, _, first, stop, _ in spans - spans[0, 2]:
        reached[first:stop] = True
    for passes in (COMPILED, IN_NUMPY):
        bits, anew = np.full(wanted, 4, np.uint8), np.full(wanted, 4, np.uint8)
        program = Program(bits, 2, tuple(instructions), anew=False)
        passes.run([program, program._replace(bits=anew, anew=True)], spans)
        assert np.array_equal(anew, np.where(reached, bits & 2, 4))
        found.append(bits.tolist())
    return found


@pytest.mark.parametrize("operator", COMPARISONS)
def test_comparisons_are_true_where_numpy_finds_them_true(operator: str) -> None:
    """Values of a few levels, so that they are often equal, some unknown, of many lengths."""
    rng = np.random.default_rng(1)
    for length, spans in WHOLE.items():
        for _ in range(10):
            a, b = levels(rng, length), levels(rng, length)
            for beside in (b, 2.0):
                ours, numpys = both_ways([comparison(a, operator, beside)], spans, length)
                assert ours == numpys
        assert length < 60 or set(ours) == {4, 6}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 150)), min_size=1), st.integers(0, 9))
def test_each_span_is_compared_with_what_is_before_it(
    sizes: list[tuple[int, int]], seed: int
) -> None:
    """However many bars it has, and however many of its column lead up to it."""
    rows, bar, end = [], 3, 0
    for lead, wanted in sizes:
        rows.append([0, bar - lead, bar, bar + wanted, end])
        bar, end = bar + wanted, end + lead + wanted
    rng, spans = np.random.default_rng(seed), np.array(rows)
    a, b = levels(rng, end), levels(rng, end)
    for operator in COMPARISONS:
        ours, numpys = both_ways([comparison(a, operator, b)], spans, bar - 3)
        assert ours == numpys


def levels(rng: np.random.Generator, length: int) -> Column:
    found = rng.integers(0, 4, length).astype(np.float64)
    found[rng.random(length) < 0.1] = np.nan
    return found


@given(st.data())
def test_programs_leave_what_they_leave_in_numpy(data: st.DataObject) -> None:
    """However groups are nested."""
    rng, length = np.random.default_rng(data.draw(st.integers(0, 99))), 200

    def pushed() -> Instruction:
        if data.draw(st.booleans()):
            return Instruction(Op.TRUE, rng.random(length) < 0.5)
        return comparison(levels(rng, length), data.draw(st.sampled_from(list(COMPARISONS))), 1.0)

    def made(depth: int) -> list[Instruction]:
        if not depth or data.draw(st.booleans()):
            return [pushed()]
        join = Instruction(data.draw(st.sampled_from([Op.AND, Op.OR])))
        return [*made(depth - 1), *made(depth - 1), join]

    ours, numpys = both_ways(made(4), np.array([[0, 0, 0, length, 0]]), length)
    assert ours == numpys


def test_what_would_be_read_amiss_is_not_read() -> None:
    spans, column, bits = np.array([[0, 0, 0, 9, 0]]), np.zeros(9), np.zeros(9, np.uint8)
    given: list[Any] = [(column[1:], bits), (np.zeros(18)[::2], bits), (column.astype("f4"), bits)]
    for other, into in [*given, (column, bits[1:]), (column, column)]:
        with pytest.raises(Misfit):
            compiled.run(
                [Program(into, 1, (comparison(column, "above", other),), anew=True)], spans
            )


def test_the_numbers_of_operations_are_those_that_are_compiled() -> None:
    named = {name: getattr(compiled, name) for name in Op.__members__ if hasattr(compiled, name)}
    assert named == {"AT_OR_ABOVE": 1, "CROSSES_ABOVE": 2, "TRUE": 3, "AND": 4}
    assert named == {name: Op[name] for name in named}


def test_pending_programs_are_run_with_the_others_over_their_spans(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[list[int]] = []

    def note(programs: Sequence[Program], spans: Spans) -> None:
        ran.append([one.bit for one in programs])

    pending, one, other = Pending(note), np.zeros((1, 5), np.int64), np.zeros((1, 5), np.int64)
    compared = (comparison(np.zeros(100), "above", np.ones(100)),)
    for bit, spans in enumerate((one, other, one)):
        pending.add([Program(np.zeros(1, np.uint8), bit, compared, anew=True)], spans)
    assert ran == []
    pending.run()
    pending.run()
    assert ran == [[0, 2], [1]]
    monkeypatch.setattr(programs, "MOST_HELD", 2_000)
    for bit in (3, 4):
        pending.add([Program(np.zeros(1, np.uint8), bit, compared, anew=True)], one)
    assert ran[2:] == [[3, 4]]


def test_what_is_infinite_is_laid_as_unknown() -> None:
    part = np.array([1.0, np.inf, np.nan, -np.inf, 2.0])

    def laid(lay: Lay) -> Column:
        column = np.zeros(8)
        lay(column, 2, part)
        lay(column, 0, part[3:])
        return column

    nan = np.nan
    wanted = [nan, 2.0, 1.0, nan, nan, nan, 2.0, 0.0]
    assert np.array_equal(laid(compiled.lay), wanted, equal_nan=True)
    assert laid(values.lay).tobytes() == laid(compiled.lay).tobytes()


def test_what_is_laid_is_of_the_kinds_that_were_compiled() -> None:
    """Contiguous, and read-only where it is a column of the candles."""
    candles = session_bars(2)
    for row in CATALOGUE.values():
        parameters = {one.name: one.default for one in row.parameters}
        one = series(row.type, row.outputs[0].name, "close", parameters)
        for part in next(over(one, candles, [slice(100, 600)])):
            assert (part.dtype, part.flags.c_contiguous) == (np.dtype(np.float64), True), row.type


def test_bits_are_marked_where_each_span_is_true() -> None:
    truth, spans = (
        np.arange(20) % 3 == 0,
        np.array([[0, 2, 2, 7, 1], [0, 5, 7, 7, 9], [0, 5, 7, 16, 8]]),  # wanted from bar 2 on
    )
    marked = both_ways([Instruction(Op.TRUE, truth)], spans, 16)
    wanted = [4, 4, 6, 4, 4, 4, 4, 6, 4, 4, 6, 4, 4, 6, 4, 4]
    assert marked == [wanted, wanted]
