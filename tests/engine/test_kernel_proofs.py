"""Properties that hold of every simulation, over random strategies and random paths."""

from collections import Counter

import numpy as np
import pytest

from apps.engine.candles.candles import frozen
from apps.engine.kernel import codes as c
from apps.engine.kernel import records as r
from apps.engine.kernel.reasons import EXIT_REASONS, REJECTIONS
from tests.engine.ledger import Ledger
from tests.engine.random_cases import (
    RATES,
    Case,
    Outcome,
    Running,
    account_of,
    bars_of,
    calm_case,
    every_row,
    fills_of,
    random_case,
    reduced,
    reference_of,
    rejected,
    row_by_row,
    run_to,
    small_out,
    sparse_case,
    state_of,
    waited,
    whole,
    with_idle_symbols,
)
from tests.engine.reference import ReferenceImplementation

QUICK, LONG = range(8), range(1000, 4000)
PROOF = pytest.param(LONG, id="3000", marks=pytest.mark.slow)
QUICK_PARAMETER = pytest.param(QUICK, id="8")
seeds = pytest.mark.parametrize("seeds", [QUICK_PARAMETER, PROOF])
few_seeds = pytest.mark.parametrize("seeds", [pytest.param(range(3), id="3"), PROOF])
"""For what steps row by row."""
fewest_seeds = pytest.mark.parametrize(
    "seeds", [pytest.param(range(2), id="2"), pytest.param(LONG[:300], marks=pytest.mark.slow)]
)
"""For thousands of rows."""


def cases(seeds: range, symbols: int | None = None) -> list[tuple[Case, np.random.Generator]]:
    generators = [np.random.default_rng(seed) for seed in seeds]
    return [(random_case(rng, symbols=symbols), rng) for rng in generators]


@seeds
@pytest.mark.timeout(1800)
def test_the_kernel_equals_the_reference_bit_for_bit_to_the_end_of_data_too(seeds: range) -> None:
    for case, _ in cases(seeds):
        reference, running = reference_of(case), run_to(case)
        assert_equal(running.outcome, reference)
        account = running.loaded.account[0]
        for name in ("cash", "day_start", "day"):
            assert account[name] == getattr(reference, name), name
        assert (account["status"] == c.RUINED) == reference.ruined
        running.finish()
        reference.finish()
        assert_equal(running.outcome, reference)


# The seed 1117 sizes an entry by equity while another position rests.
@pytest.mark.parametrize("seeds", [QUICK_PARAMETER, pytest.param(range(1117, 1118)), PROOF])
@pytest.mark.timeout(1800)
def test_rows_that_are_passed_at_once_are_the_rows_of_the_reference(seeds: range) -> None:
    for seed in seeds:
        case = calm_case(np.random.default_rng(seed))
        reference, outcome = reference_of(case), whole(case)
        assert_equal(outcome, reference)
        assert account_of(outcome)["day_start"] == reference.day_start
        assert row_by_row(case) == outcome


@seeds
@pytest.mark.timeout(1800)
def test_cells_of_the_first_row_equal_those_of_all_rows(seeds: range) -> None:
    """This holds for symbols with a bar in every row, which some of the random ones are."""
    for case, _ in cases(seeds):
        if (case.market.cell >= 0).all():
            short = case.market._replace(cell=case.market.cell[:1].copy())
            assert whole(case._replace(market=short)) == whole(case)


@fewest_seeds
@pytest.mark.timeout(1800)
def test_thousands_of_rows_are_the_rows_of_the_reference(seeds: range) -> None:
    """There is enough money to survive most of them, and a breach of the daily limit now
    and then.
    """
    for seed in seeds:
        case = random_case(np.random.default_rng(seed), rows=2_500)
        limited = case.plan._replace(max_daily_loss=float(20_000 * (1 + seed % 3)))
        case = case._replace(plan=limited, cash=1e8)
        assert_equal(whole(case), reference_of(case))


@fewest_seeds
@pytest.mark.timeout(1800)
def test_long_trailing_positions_equal_the_reference(
    seeds: range,
) -> None:
    for seed in seeds:
        case = sparse_case(np.random.default_rng(seed))
        assert_equal(whole(case), reference_of(case))


@fewest_seeds
@pytest.mark.timeout(1800)
def test_every_slot_active_in_every_row_gives_the_same_bytes(seeds: range) -> None:
    for seed in seeds:
        for draw in (random_case, calm_case, sparse_case):
            case = draw(np.random.default_rng(seed))
            assert every_row(case) == whole(case)


@pytest.mark.parametrize("step", [1, 9])
def test_a_trail_is_rounded_by_a_new_tick_from_the_first_bar_that_has_it(step: int) -> None:
    """The symbol has no bar in the row where its tick becomes finer; another symbol has one."""
    prices = [
        (100.0, 100.0, 100.0, 100.0),
        (100.0, 100.0, 100.0, 100.0),
        (100.0, 100.33, 100.0, 100.0),
        None,
        (99.0, 99.0, 99.0, 99.0),
        (98.0, 98.0, 97.32, 98.0),
        (98.0, 98.0, 98.0, 98.0),
    ]
    bars, rows = [bar for bar in prices if bar], len(prices)
    cell = np.array([[k - (k > 3) if prices[k] else -1, len(bars) + k] for k in range(rows)])
    time = frozen(np.arange(rows) * 60)
    market = r.MarketRows(
        time,
        np.zeros(rows, np.int32),
        cell.astype(np.int32),
        bars_of(bars + [(9.0,) * 4] * rows),
        np.zeros((0, r.RANGES)),
        np.zeros(0, np.uint8),
    )
    signals = np.zeros((rows, 2), np.uint8)
    signals[0, 0] = c.ENTER_LONG
    contracts = np.zeros(2, r.CONTRACT)
    contracts["lot"] = contracts["multiplier"] = contracts["margin"] = 1.0
    contracts["tick"] = 500
    case = Case(market, signals, r.Plan(trail_points=3.0), contracts, RATES[:0], 1e6, {})
    running, row = Running(case, small_out(2, rows)), 0
    while row < rows:
        if row == 3:
            contracts["tick"] = 100
        row = running.run(market, signals, row, min(row + step, 3 if row < 3 else rows))
    [trade] = np.frombuffer(running.outcome.trades, r.TRADE)
    assert (trade["exit_time"], trade["exit_price"]) == (300, 97.33)


@seeds
@pytest.mark.timeout(1800)
def test_a_row_with_a_breach_of_the_daily_limit_is_not_idle(seeds: range) -> None:
    for seed in seeds:
        case = limited_case(np.random.default_rng(seed))
        assert_equal(whole(case), reference_of(case))
        assert row_by_row(case) == whole(case)


def assert_equal(outcome: Outcome, reference: ReferenceImplementation) -> None:
    account = account_of(outcome)
    assert np.frombuffer(outcome.trades, r.TRADE).tolist() == reference.trades
    assert np.frombuffer(outcome.curve).tolist() == reference.curve
    assert outcome.fills == fills_of(reference)
    assert np.frombuffer(outcome.refusals, r.REFUSAL).tolist() == reference.refusals
    assert account["equity"] == reference.equity
    assert account["paid"].tolist() == reference.paid
    assert rejected(outcome) == reference.rejected
    assert reduced(outcome) == reference.reduced
    assert waited(outcome) == reference.waited


@seeds
@pytest.mark.timeout(1800)
def test_a_run_cut_anywhere_and_resumed_from_bytes_is_the_same_run(seeds: range) -> None:
    for case, rng in cases(seeds):
        rows, expected = case.market.time.size, whole(case)
        assert whole(case, cuts=(int(rng.integers(0, rows + 1)),)) == expected
        assert whole(case, cuts=tuple(sorted(rng.integers(0, rows, 5).tolist()))) == expected


@few_seeds
@pytest.mark.timeout(1800)
def test_rows_fed_one_at_a_time_give_the_backtest(seeds: range) -> None:
    for case, _ in cases(seeds):
        assert row_by_row(case) == whole(case)


@seeds
@pytest.mark.timeout(1800)
def test_later_bars_change_no_earlier_result(seeds: range) -> None:
    for case, rng in cases(seeds):
        rows, full = case.market.time.size, whole(case)
        end = int(rng.integers(1, rows))
        early = whole(case, end=end)
        assert full.trades.startswith(early.trades)
        assert full.curve.startswith(early.curve)
        signals, table = case.signals.copy(), np.column_stack(case.market.bars)
        later = case.market.cell[end:]
        signals[end:] = (rng.integers(0, 128, later.shape) & ~c.FLATTEN) * (later >= 0)
        table[later[later >= 0]] = (50.0, 60.0, 40.0, 55.0)
        market = case.market._replace(bars=bars_of(table))
        other = case._replace(signals=signals, market=market)
        assert whole(other, end=end) == early


@seeds
@pytest.mark.timeout(1800)
def test_symbols_that_never_signal_change_nothing(seeds: range) -> None:
    for case, _ in cases(seeds):
        alone, among = whole(case), whole(with_idle_symbols(case, 3))
        assert (among.trades, among.curve) == (alone.trades, alone.curve)
        slots = case.signals.shape[1]
        for array, longer in zip(state_of(alone), state_of(among), strict=True):
            assert longer[:slots].tobytes() == array.tobytes()


@seeds
@pytest.mark.timeout(1800)
def test_money_is_neither_made_nor_lost(seeds: range) -> None:
    for case, _ in cases(seeds):
        running = run_to(case)
        running.finish()
        account = running.loaded.account[0]
        trades = np.frombuffer(running.outcome.trades, r.TRADE)
        profit = (trades["gross"] - trades["charges"]).sum()
        assert account["cash"] == account["equity"]
        assert account["cash"] == pytest.approx(case.cash + profit, rel=1e-11, abs=1e-6)
        assert account["paid"].sum() / 100 == pytest.approx(trades["charges"].sum(), rel=1e-11)


@seeds
@pytest.mark.timeout(1800)
def test_fills_rebuild_trades_cash_and_charges_to_the_last_bit(seeds: range) -> None:
    for case, _ in cases(seeds):
        running = run_to(case)
        running.finish()
        outcome, account, ledger = running.outcome, running.loaded.account[0], Ledger(case)
        for fill in np.frombuffer(outcome.fills, r.FILL):
            ledger.post(fill)
        assert ledger.trades == [list(trade[:3]) + list(trade[4:]) for trade in trades_of(outcome)]
        assert ledger.cash == account["cash"]
        assert ledger.paid.tolist() == account["paid"].tolist()


@few_seeds
@pytest.mark.timeout(1800)
def test_equity_is_cash_of_fills_plus_value_of_positions_at_every_row(seeds: range) -> None:
    for case, _ in cases(seeds):
        rows, symbols = case.signals.shape
        running, ledger = Running(case, small_out(symbols, rows)), Ledger(case)
        closes, reported = np.zeros(symbols), 0
        for row in range(rows):
            if row in case.outside:
                running.ask(case.outside[row])
            running.run(case.market, case.signals, row, row + 1)
            for part in running.parts[reported:]:
                for fill in np.frombuffer(part[2], r.FILL):
                    ledger.post(fill)
            reported, cell = len(running.parts), case.market.cell[row]
            closes[cell >= 0] = case.market.bars.close[cell[cell >= 0]]
            equity = np.frombuffer(running.parts[-1][1])[0]
            assert ledger.worth(closes) == pytest.approx(equity, rel=1e-12)
            if running.ruined:
                break


@seeds
@pytest.mark.timeout(1800)
def test_the_order_of_symbols_does_not_matter_if_money_is_ample(seeds: range) -> None:
    """Sizes must not follow equity either, which the charges of earlier entries reduce."""
    for case, rng in cases(seeds, symbols=4):
        plan = case.plan._replace(
            size_by=c.BY_AMOUNT,
            size=5e4,
            max_positions=50,
            max_daily_loss=float("inf"),
            max_daily_profit=float("inf"),
            max_entries_a_day=0,
        )
        rich = case._replace(plan=plan, cash=1e12, outside={})
        order = rng.permutation(4)
        market = rich.market._replace(cell=np.ascontiguousarray(rich.market.cell[:, order]))
        other = rich._replace(
            market=market,
            signals=np.ascontiguousarray(rich.signals[:, order]),
            contracts=rich.contracts[order],
        )
        trades, reordered = (
            np.frombuffer(whole(run).trades, r.TRADE).copy() for run in (rich, other)
        )
        reordered["symbol"] = order[reordered["symbol"]]
        names = ["exit_time", "entry_time", "symbol"]
        assert np.sort(trades, order=names).tolist() == np.sort(reordered, order=names).tolist()
        curves = [np.frombuffer(whole(run).curve) for run in (rich, other)]
        np.testing.assert_allclose(curves[0], curves[1], rtol=1e-12)


def trades_of(outcome: Outcome) -> list[tuple[float, ...]]:
    trades: list[tuple[float, ...]] = np.frombuffer(outcome.trades, r.TRADE).tolist()
    return trades


@seeds
@pytest.mark.timeout(1800)
def test_refusals_are_as_many_as_are_counted(seeds: range) -> None:
    for case, _ in cases(seeds):
        outcome = whole(case)
        counts = Counter(np.frombuffer(outcome.refusals, r.REFUSAL)["reason"].tolist())
        assert {REJECTIONS[reason]: count for reason, count in counts.items()} == rejected(outcome)


@seeds
@pytest.mark.timeout(1800)
def test_the_outcome_is_the_same_if_nothing_is_recorded(seeds: range) -> None:
    for case, _ in cases(seeds):
        symbols, rows = case.signals.shape[1], case.market.time.size
        quiet = r.SimulationOutput(np.zeros(2 * symbols, r.TRADE), np.zeros(rows))
        recorded = run_to(case)
        untold = run_to(case, out=quiet)
        assert untold.outcome[:3] == recorded.outcome[:3]
        assert untold.outcome[3:] == (b"", b"")


def limited_case(rng: np.random.Generator, rows: int | None = None) -> Case:
    """Draw a few positions of one symbol, with a daily limit near the loss of one at its stop."""
    case, chance = random_case(rng, symbols=1, rows=rows), rng.choice([0.005, 0.02])
    points = float(np.ptp(case.market.bars.close) * rng.uniform(0.1, 0.4))
    plan = r.Plan(
        size=40.0,
        stop_points=points,
        trail_rate=float(rng.choice([0.0, 0.0, 0.05])),
        max_daily_loss=40 * points * float(rng.uniform(0.3, 1.1)),
        max_daily_profit=40 * points * float(rng.uniform(0.3, 2.0)),
        cooldown=int(rng.choice([0, 0, 5])),
    )
    drawn = rng.choice([c.ENTER_LONG, c.ENTER_SHORT], case.signals.shape)
    signalled = (case.market.cell >= 0) & (rng.random(drawn.shape) < chance)
    contracts = np.array([(1.0, 1.0, 1.0, 500.0, 2)], r.CONTRACT)
    signals = np.where(signalled, drawn, 0).astype(np.uint8)
    return case._replace(plan=plan, signals=signals, contracts=contracts, cash=1e6)


@seeds
@pytest.mark.timeout(1800)
def test_a_market_upside_down_gives_the_same_trades_to_the_other_side(seeds: range) -> None:
    """With every rule in points, a short does exactly as a long does."""
    for case, _ in cases(seeds):
        plain = in_points(case)
        if plain.market.bars.high.max() >= LEVEL:
            continue  # upside down its prices would be below 0
        inverted, back = whole(upside_down(plain)), whole(plain)
        names = ["entry_time", "exit_time", "symbol", "bars", "reason", "quantity"]
        trades, inverted_trades = (
            np.frombuffer(outcome.trades, r.TRADE) for outcome in (back, inverted)
        )
        assert trades[names].tolist() == inverted_trades[names].tolist()
        assert trades["side"].tolist() == (-inverted_trades["side"]).tolist()
        np.testing.assert_allclose(trades["gross"], inverted_trades["gross"], atol=1e-6)
        assert rejected(back) == rejected(inverted)


LEVEL = 100_000.0


def in_points(case: Case) -> Case:
    """Return the case without rules that depend on the price level.

    These are rates, slippage, amounts and charges; and prices of its own.
    """
    plan = case.plan._replace(
        size_by=c.BY_QUANTITY,
        size=10.0,
        stop_rate=0.0,
        second_stop_rate=0.0,
        target_rate=0.0,
        add_rate=0.0,
        trail_rate=0.0,
        trail_from=0.0,
        step_rate=r.NO_STEPS,
        step_points=tuple(
            points + 100 * rate
            for points, rate in zip(case.plan.step_points, case.plan.step_rate, strict=True)
        ),
        slippage=0.0,
        order_offset=0.0,
        max_position_value=float("inf"),
    )
    outside = {row: asked._replace(settlement=r.LAST_CLOSE) for row, asked in case.outside.items()}
    market = case.market._replace(short_margins=r.NO_MARGINS)
    return case._replace(
        market=market, plan=plan, rates=np.zeros(0, r.RATE), cash=1e9, outside=outside
    )


def upside_down(case: Case) -> Case:
    """Turn the case upside down: every price p becomes LEVEL - p, and signals and locks change
    sides.
    """
    flags = case.market.flags
    up, down = flags & c.LOCKED_UP, flags & c.LOCKED_DOWN
    flags = (flags - up - down + up // c.LOCKED_UP * c.LOCKED_DOWN).astype(np.uint8)
    flags |= (down // c.LOCKED_DOWN * c.LOCKED_UP).astype(np.uint8)
    bars, signals = case.market.bars, case.signals
    turned = np.column_stack((bars.open, bars.low, bars.high, bars.close))
    levels = case.market.levels
    if levels.size:
        other_side = levels[:, [1, 0, 3, 2, 5, 4]]
        levels = np.column_stack([np.round(LEVEL - other_side, 2), levels[:, c.SHARE]])
    swapped = ((signals & 0b100101) << 1 | (signals & 0b1001010) >> 1).astype(np.uint8)
    return case._replace(
        market=case.market._replace(
            bars=bars_of(np.round(LEVEL - turned, 2)),
            flags=flags,
            levels=np.ascontiguousarray(levels),
        ),
        signals=swapped,
    )


@seeds
@pytest.mark.timeout(1800)
def test_no_fill_lies_outside_its_bar_before_slippage(seeds: range) -> None:
    for case, _ in cases(seeds):
        market, slippage = case.market, case.plan.slippage
        for fill in np.frombuffer(whole(case).fills, r.FILL):
            row = int((fill["time"] - market.time[0]) // 60)
            bar = market.cell[row, fill["symbol"]]
            if fill["reason"] == c.BY_EXPIRY:  # at a price from the outside
                continue
            slips = fill["reason"] not in {c.BY_TARGET, c.BY_STEP}
            slips &= fill["reason"] != c.OPEN or case.plan.order_by != c.AT_LIMIT
            price = fill["price"] / (1 + slips * fill["side"] * slippage)
            assert market.bars.low[bar] - 1e-6 <= price <= market.bars.high[bar] + 1e-6


@seeds
@pytest.mark.timeout(1800)
def test_no_fill_lies_on_the_side_of_a_lock(seeds: range) -> None:
    locks = 0
    for case, _ in cases(seeds):
        market, running = case.market, run_to(case)
        if not market.flags.size:
            continue
        for fill in np.frombuffer(running.outcome.fills, r.FILL):
            if fill["reason"] == c.BY_EXPIRY:  # no trade
                continue
            row = int((fill["time"] - market.time[0]) // 60)
            flag = market.flags[market.cell[row, fill["symbol"]]]
            locks += bool(flag & (c.LOCKED_UP | c.LOCKED_DOWN))
            assert not flag & (c.LOCKED_UP if fill["side"] > 0 else c.LOCKED_DOWN)
    assert locks


def test_the_random_cases_meet_every_reason() -> None:
    reasons, rejections, fills = set(), set(), set()
    for case, _ in cases(range(60)):
        outcome = whole(case)
        trades = np.frombuffer(outcome.trades, r.TRADE)
        reasons |= {EXIT_REASONS[code] for code in trades["reason"]}
        rejections |= set(rejected(outcome))
        fills |= {EXIT_REASONS[code] for code in np.frombuffer(outcome.fills, r.FILL)["reason"]}
    assert reasons == set(EXIT_REASONS[1:]) - {"end_of_data", "step"}
    assert fills == reasons | {"", "step"}
    assert rejections == set(REJECTIONS)
