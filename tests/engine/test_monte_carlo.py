"""Trades drawn again: each draw equals plain Python, and its figures are right."""

from typing import Any

import numpy as np
import pytest

from apps.engine.kernel.records import CURVE, TRADE, Array
from apps.engine.results.fill_quality import FillQuality
from apps.engine.results.wire_receipt import SimulationReceipt
from apps.engine.simulation.simulate import SimulationResult
from apps.engine.studies.configs import MonteCarloConfig
from apps.engine.studies.monte_carlo import (
    RESAMPLING_METHODS,
    BlockTooLong,
    MonteCarlo,
    Paths,
    TooFewTrades,
    draw_paths,
    path_rules,
    paths,
    usual_block,
    warm_up,
)

MASK, GOLDEN = 2**64 - 1, 0x9E3779B97F4A7C15
PROFITS = np.round(np.random.default_rng(5).normal(3, 100, 37), 2)


def mixed(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def drawn(method: str, block: int, seed: int, run: int) -> list[float]:
    """Draw the trades of one path by the same generator in plain Python."""
    state, n = seed ^ mixed((run + 1) * GOLDEN & MASK), len(PROFITS)
    left: list[float] = PROFITS.tolist()

    def below(most: int) -> int:
        nonlocal state
        state = (state + GOLDEN) & MASK
        return (mixed(state) >> 32) * most >> 32

    if method == "shuffle":
        for k in range(n):
            j = k + below(n - k)
            left[k], left[j] = left[j], left[k]
        return left
    if method == "bootstrap":
        return [left[below(n)] for _ in range(n)]
    starts = [below(n) for _ in range(-(-n // block))]
    return [left[(starts[k // block] + k % block) % n] for k in range(n)]


def made(method: str, *, runs: int = 50, block: int = 5, threads: int = 1) -> Paths:
    rules = path_rules(method, capital=1000.0, threshold=900.0, block=block, seed=11)
    return paths(PROFITS, rules, slice(0, runs), threads=threads)


@pytest.mark.parametrize("method", RESAMPLING_METHODS)
def test_each_path_equals_plain_python(method: str) -> None:
    simulated = made(method)
    for run in range(50):
        equity = np.cumsum([1000.0, *drawn(method, 5, 11, run)])
        peak = np.maximum.accumulate(equity)
        assert simulated.last[run] == equity[-1]
        assert simulated.drawdown[run] == ((peak - equity) / peak).max()
        assert simulated.ruined[run] == (equity[1:] <= 900).any()


@pytest.mark.parametrize("method", RESAMPLING_METHODS)
def test_paths_do_not_depend_on_the_threads(method: str) -> None:
    alone, three = made(method), made(method, threads=3)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(alone, three, strict=True))


def test_a_block_may_be_longer_than_all_trades() -> None:
    assert np.allclose(made("block_bootstrap", block=100).last, 1000 + PROFITS.sum())


def test_all_trades_are_drawn_with_equal_probability() -> None:
    """30,000 draws of three trades give 10,000 of each, within four deviations of 82."""
    profits = np.array([1.0, 1e6, 1e12])  # a path's sum tells how often each was drawn
    drawn = paths(profits, path_rules("bootstrap", capital=1.0, seed=1), slice(0, 10_000))
    sums = drawn.last.astype(np.int64) - 1
    for scale in (1, 10**6, 10**12):
        assert abs(int((sums // scale % 10).sum()) - 10_000) < 4 * 82


def summary(*profits: float, **config: object) -> dict[str, Any]:
    trades = np.zeros(len(profits), TRADE)
    trades["gross"], trades["value"] = profits, 100.0
    asked = MonteCarloConfig.read(config)
    output = MonteCarlo(asked, result_with(trades), capital=100.0, seed=3).run()
    findings: dict[str, Any] = output.findings
    return findings


RECEIPT = SimulationReceipt(
    engineVersion=0,
    configuration="",
    candles="",
    rulebook="",
    start=0,
    end=0,
    capital=0,
    seed=0,
    notes=[],
)


def result_with(trades: Array) -> SimulationResult:
    """Return a result of these trades and nothing else."""
    fills = FillQuality(*[np.zeros(len(trades))] * len(FillQuality._fields))
    return SimulationResult((), trades, np.empty(0, CURVE), None, fills, {}, RECEIPT)


def test_a_shuffle_gives_only_the_drawdown() -> None:
    """With a gain of 10 and a loss of 10, the loss first is 10 % of 100, and last 9.09 % of 110."""
    metrics = summary(10, -10, method="shuffle", runs=1000)
    assert metrics["finalEquity"] is None
    assert metrics["maxDrawdown"]["p1"] == pytest.approx(10 / 110 * 100)
    assert metrics["maxDrawdown"]["p99"] == pytest.approx(10)
    assert metrics["maxDrawdown"]["mean"] == pytest.approx(9.545, abs=0.1)
    assert metrics["asTraded"] == {"finalEquity": 100, "maxDrawdown": pytest.approx(10 / 110 * 100)}


def test_rupees_are_rounded_as_in_other_results() -> None:
    """Sums of 0.1 and 0.2 differ in the last bits of binary fractions, and a percentile more."""
    metrics = summary(*[0.1, 0.2, -0.7] * 7, runs=999)
    spread = [*metrics["finalEquity"].values(), metrics["asTraded"]["finalEquity"]]
    assert [round(amount, 4) for amount in spread] == spread


def test_ruin_is_the_share_of_paths_that_lost_the_threshold() -> None:
    """Of two draws of a gain or a loss of 30, one in four loses twice, and so half of the
    capital.
    """
    metrics = summary(30, -30, runs=10_000, ruinThreshold=50)
    assert metrics["riskOfRuin"] == pytest.approx(25, abs=2)
    assert metrics["finalEquity"]["p1"] == 40
    assert metrics["finalEquity"]["p50"] == 100
    assert summary(30, -30, ruinThreshold=60)["riskOfRuin"] == pytest.approx(25, abs=2)
    assert summary(30, -30, ruinThreshold=60.1)["riskOfRuin"] == 0


def test_no_study_needs_more_than_was_compiled_before() -> None:
    warm_up()
    prepared = list(draw_paths.signatures)
    summary(10, -10, 5)
    assert draw_paths.signatures == prepared


def test_two_trades_are_needed() -> None:
    with pytest.raises(TooFewTrades, match="1 trades; 2 are needed"):
        summary(10)


def test_rule_19_a_block_wraps_from_the_last_trade_to_the_first() -> None:
    """With 1, 10 and 100 in blocks of two, 102 and 201 need a block that begins at the last."""
    rules = path_rules("block_bootstrap", capital=1000.0, block=2, seed=11)
    drawn = paths(np.array([1.0, 10.0, 100.0]), rules, slice(0, 400))
    assert set(drawn.last - 1000) == {12, 21, 102, 111, 120, 201, 210}


def test_rule_19_the_usual_block_is_the_cube_root_of_the_trades() -> None:
    assert [usual_block(n) for n in (2, 27, 1000)] == [1, 3, 10]
    assert summary(1, 2, method="block_bootstrap")["blockLength"] == 1
    assert summary(1, 2)["blockLength"] is None


def test_a_block_of_all_trades_is_refused() -> None:
    trades = np.zeros(3, TRADE)
    for length, refused in ((2, False), (3, True), (10_000, True)):
        asked = MonteCarloConfig.read(
            {"runs": 10, "method": "block_bootstrap", "blockLength": length}
        )
        if refused:
            with pytest.raises(BlockTooLong, match=f"3 trades; blockLength is {length}"):
                MonteCarlo(asked, result_with(trades), capital=1000.0, seed=1)
        else:
            assert MonteCarlo(asked, result_with(trades), capital=1000.0, seed=1).block == 2


def test_many_draws_are_reported_in_between_and_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, reports = made("shuffle"), list[float]()
    monkeypatch.setattr("apps.engine.studies.monte_carlo.DRAWS_AT_A_TIME", 20 * len(PROFITS))
    rules = path_rules("shuffle", capital=1000.0, threshold=900.0, seed=11)
    drawn = paths(PROFITS, rules, slice(0, 50), threads=2, report=reports.append)
    assert reports == [0.4, 0.8, 1.0]
    assert all(np.array_equal(a, b) for a, b in zip(drawn, whole, strict=True))


def test_an_exception_of_the_report_ends_the_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.engine.studies.monte_carlo.DRAWS_AT_A_TIME", 1)
    reports = list[float]()

    def report(done: float) -> None:
        reports.append(done)
        raise InterruptedError

    rules = path_rules("bootstrap", capital=1.0, seed=1)
    with pytest.raises(InterruptedError):
        paths(PROFITS, rules, slice(0, 50), report=report)
    assert reports == [0.02]
