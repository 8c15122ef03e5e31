"""`simulate` as callers use it: ranges, timelines, progress, receipts, notes."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles import DAY, Candles, ist_day
from apps.engine.candles.candles import frozen
from apps.engine.candles.resampling import resample
from apps.engine.candles.sessions import Regime, Sessions
from apps.engine.errors import InsufficientBars
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.kernel.records import Settlement
from apps.engine.language.strategy import Strategy
from apps.engine.results.trade_figures import net_profits
from apps.engine.results.wire_receipt import SimulationReceipt
from apps.engine.results.wire_records import ClosedTrade, curve_points, trade_dicts
from apps.engine.results.wire_units import round_for_wire
from apps.engine.simulation import simulations
from apps.engine.simulation.simulate import (
    ChargeRow,
    Contract,
    History,
    MissingCalendar,
    SimulationResult,
    simulate,
    warm_up,
)
from apps.engine.simulation.timeline import Payout
from apps.engine.units import Unit, rounded
from tests.engine.strategies import price, sma_cross, strategy

MONDAY = 1_704_080_700  # 2024-01-01, 09:15 in Asia/Kolkata
MINUTE = 60
FOREVER = 2**40


def history(
    closes: Sequence[float], *, symbol: str = "NSE:TEST", start: int = MONDAY, **given: Any
) -> History:
    """Return minute bars that open at the close before."""
    close = np.array(closes, dtype=np.float64)
    opens = np.r_[close[:1], close[:-1]]
    candles = Candles.build(
        start + np.arange(len(close)) * MINUTE,
        open=opens,
        high=np.maximum(opens, close),
        low=np.minimum(opens, close),
        close=close,
        volume=np.full(len(close), 10_000.0),
    )
    return History(symbol, candles, **given)


def run(
    given: Strategy, *histories: History, start: int = 0, end: int = FOREVER, **more: Any
) -> SimulationResult:
    return simulate(given, histories, start=start, end=end, **{"capital": 10_000.0, **more})


def walk(n: int, seed: int = 1) -> list[float]:
    rng = np.random.default_rng(seed)
    closes: list[float] = np.round(100 * np.exp(np.cumsum(rng.normal(0, 0.002, n))), 2).tolist()
    return closes


def busy(**changes: Any) -> Strategy:
    """Return steps that trade often: always in, on the cross of two short averages."""
    return strategy(
        entryConditions={"positionType": "both", "conditions": [sma_cross(3, 8)]}, **changes
    )


def trades(result: SimulationResult) -> list[ClosedTrade]:
    return trade_dicts(result.trades, result.symbols, result.excursions, result.fills)


def test_a_trade_as_clients_read_it() -> None:
    rows = trades(run(strategy(), history([99, 101, 102, 103, 99, 98])))
    assert rows == [
        {
            "symbol": "NSE:TEST",
            "side": "long",
            "quantity": 1.0,
            "entryTime": "2024-01-01T03:47:00.000Z",
            "entryDate": "2024-01-01",
            "entryPrice": 101.0,
            "exitTime": "2024-01-01T03:50:00.000Z",
            "exitDate": "2024-01-01",
            "exitPrice": 98.95,
            "exitReason": "stop_loss",
            "grossProfit": pytest.approx(-2.05),
            "charges": 0.0,
            "profit": pytest.approx(-2.05),
            "returnPercentage": pytest.approx(-2.05 / 101 * 100),
            "bars": 4,
            "maxAdverseExcursion": pytest.approx(2.05 / 101 * 100),
            "maxFavorableExcursion": pytest.approx(2 / 101 * 100),
            "entryDelayBars": None,
            "entryDelayMinutes": None,
            "entryBarVolume": 10_000,
            "entryVolumeShare": 0.01,
            "exitDelayBars": None,
            "exitDelayMinutes": None,
            "exitBarVolume": 10_000,
            "exitVolumeShare": 0.01,
        }
    ]


def test_orders_and_conditions_of_exits_reach_the_result() -> None:
    """The limit of the signal at 101, 99.95, is met on the way to 99; that of 104 is not."""
    given = strategy(
        exitConditions={"conditions": [price("above", 103)]},
        executionSettings={"orderType": "limit", "limitOffset": 1},
    )
    result = run(given, history([99, 101, 99, 100, 104, 104, 104]))
    (trade,) = trades(result)
    fills = (trade["entryPrice"], trade["exitPrice"], trade["exitReason"])
    assert fills == (99.95, 104.0, "signal")
    rejected: Any = result.performance["rejectedSignals"]
    assert rejected["limit_not_reached"] == 1


def test_rule_18_bars_from_start_to_before_end_are_simulated() -> None:
    result = run(strategy(), history([99] * 10), start=MONDAY + 2 * MINUTE, end=MONDAY + 7 * MINUTE)
    assert result.curve["time"].tolist() == [MONDAY + m * MINUTE for m in range(2, 7)]


def test_rule_18_the_first_signal_is_the_close_of_the_first_bar_in_range() -> None:
    bars = history([99, 101, 102, 103])
    at_the_cross = run(strategy(), bars, start=MONDAY + MINUTE)
    assert [t["entryTime"] for t in trades(at_the_cross)] == ["2024-01-01T03:47:00.000Z"]
    assert trades(run(strategy(), bars, start=MONDAY + 2 * MINUTE)) == []


def test_results_do_not_depend_on_history_that_no_rule_reads() -> None:
    """February reads 2,000 bars before its first day; bars before these are not even hashed."""
    closes = walk(9_000)
    start = MONDAY + 31 * 86400 - 33300  # 2024-02-01, 00:00
    whole = history(closes, start=start - 6_000 * MINUTE)
    cut = History("NSE:TEST", whole.candles.slice(3_000, 9_000))
    first, second = run(busy(), whole, start=start), run(busy(), cut, start=start)
    assert first.trades.tobytes() == second.trades.tobytes()
    assert first.receipt == second.receipt
    assert len(first.trades) > 50


def test_adding_bars_never_changes_earlier_results() -> None:
    closes = walk(600)
    whole = run(busy(), history(closes))
    for n in (50, 123, 400):
        early = run(busy(), history(closes[:n]))
        kept = [t for t in trades(early) if t["exitReason"] != "end_of_data"]
        assert trades(whole)[: len(kept)] == kept
        assert whole.curve[: n - 1].tolist() == early.curve[: n - 1].tolist()


def noted(result: SimulationResult, code: str) -> list[str]:
    """Return the messages of the notes with this code."""
    notes: Any = result.receipt["notes"]
    return [note["message"] for note in notes if note["code"] == code]


def with_pre_open(days: int, *, symbol: str = "NSE:TEST") -> History:
    """Return sessions of half an hour, each after 15 bars outside it at wild prices."""
    regular = history(walk(30 * days), symbol=symbol).candles
    opens = MONDAY + np.repeat(np.arange(days) * 86_400, 45)
    time = opens + np.tile(np.arange(-15, 30) * MINUTE, days)
    inside = np.tile(np.arange(-15, 30) >= 0, days)

    def column(values: Any) -> Any:
        whole = np.full(len(time), 130.0)
        whole[inside] = values
        return whole

    names = ("open", "high", "low", "close", "volume")
    columns = {name: column(getattr(regular, name)) for name in names}
    half_an_hour = Regime(0, 40_000, 33_300, 35_100, weekdays=0b1111111)
    candles = Candles.build(time, **columns)
    return History(symbol, candles, Sessions.build([half_an_hour]))


def test_rule_9_bars_outside_of_sessions_are_left_out_and_counted() -> None:
    whole = with_pre_open(days=20)
    inside = (whole.candles.time + 19_800) % 86_400 >= 33_300
    session_alone = History(whole.symbol, whole.candles.select(inside), whole.sessions)
    start = MONDAY + 5 * 86_400 - 33_300
    result, expected = run(busy(), whole, start=start), run(busy(), session_alone, start=start)
    assert len(result.trades) > 20
    assert result.trades.tobytes() == expected.trades.tobytes()
    assert result.curve.tobytes() == expected.curve.tobytes()
    assert result.receipt["candles"] == expected.receipt["candles"]
    assert noted(result, "out_of_session") == [
        "Bars outside of sessions are left out: 225 of NSE:TEST."
    ]
    assert noted(expected, "out_of_session") == []


def test_rule_9_bars_outside_sessions_are_included_on_request() -> None:
    whole = with_pre_open(days=20)
    asked = busy(executionSettings={"includeOutOfSession": True})
    result = run(asked, whole)
    without_calendar = run(asked, History(whole.symbol, whole.candles))
    assert result.trades.tobytes() == without_calendar.trades.tobytes()
    assert len(result.curve) == 45 * 20
    assert noted(result, "out_of_session") == [
        "Bars outside of sessions are included, as includeOutOfSession asks: 300 of NSE:TEST."
    ]


def test_rule_9_longer_candles_outside_of_sessions_are_left_out() -> None:
    """A quarter of an hour of the pre-open is its own candle."""
    whole = with_pre_open(days=20)
    inside = (whole.candles.time + 19_800) % 86_400 >= 33_300
    condition = sma_cross(2, 5)
    for operand in ("indicator1", "indicator2"):
        condition[operand]["timeframe"] = "15m"
    given = strategy(
        entryConditions={"conditions": [condition]}, exitConditions={"maxHoldingCandles": 5}
    )

    def with_quarters(candles: Candles) -> History:
        quarters = resample(candles, "1m", "15m", whole.sessions)
        return History(whole.symbol, candles, whole.sessions, higher_timeframes={"15m": quarters})

    result = run(given, with_quarters(whole.candles))
    expected = run(given, with_quarters(whole.candles.select(inside)))
    assert len(result.trades) == 3
    assert result.trades.tobytes() == expected.trades.tobytes()


def test_the_last_equity_is_the_capital_and_the_net_profit() -> None:
    schedule = (ChargeRow("", 0, brokerage=0.001),)
    result = run(busy(executionSettings={"slippage": 0.1}), history(walk(600)), schedule=schedule)
    figures = result.performance
    assert trades(result)[-1]["exitReason"] == "end_of_data"
    net, won, lost = (float(figures[name]) for name in ("netProfit", "totalProfit", "totalLoss"))  # type: ignore[arg-type]
    assert figures["finalEquity"] == rounded(10_000 + net, Unit.RUPEES)
    assert figures["finalEquity"] == rounded(result.curve["equity"][-1], Unit.RUPEES)
    assert net == pytest.approx(won - lost, abs=2e-4)


def test_symbols_with_different_timelines_share_one() -> None:
    first = history([99, 101, 102, 103])
    second = history([99, 101, 102, 103], symbol="NSE:OTHER", start=MONDAY + 2 * MINUTE)
    result = run(strategy(), first, second)
    assert result.curve["time"].tolist() == [MONDAY + m * MINUTE for m in range(6)]
    assert [(t["symbol"], t["entryTime"][11:16]) for t in trades(result)] == [
        ("NSE:TEST", "03:47"),
        ("NSE:OTHER", "03:49"),
    ]


def test_trades_are_listed_in_the_order_of_their_exits() -> None:
    exits = run(busy(), history(walk(400)), history(walk(400, 2), symbol="NSE:B")).trades[
        "exit_time"
    ]
    assert (np.diff(exits) >= 0).all()


def test_progress_grows_to_one_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulations, "CELLS_AT_A_TIME", 1000)
    reports: list[float] = []
    run(strategy(), history(walk(2010)), on_progress=reports.append)
    assert reports == [0.0, *(pytest.approx(x, abs=1e-3) for x in (0.4975, 0.995, 1.0))]


def test_an_exception_of_progress_ends_the_simulation() -> None:
    class Enough(Exception):
        pass

    def stop(done: float) -> None:
        raise Enough

    with pytest.raises(Enough):
        run(strategy(), history(walk(100)), on_progress=stop)


def test_long_runs_do_not_depend_on_the_steps_they_are_run_in() -> None:
    """There are more trades than are held at once: none is lost between two steps."""
    closes = [99.0, 101.0, 99.0] * 6_000
    given = strategy(exitConditions={"maxHoldingCandles": 1})
    result = run(given, history(closes), capital=1e6)
    assert len(result.trades) == 6_000
    assert len(result.curve) == 18_000


def test_too_few_bars_are_refused_with_their_number() -> None:
    with pytest.raises(InsufficientBars) as refused:
        run(strategy(), history([99, 101]), start=MONDAY + MINUTE)
    assert (refused.value.symbol, refused.value.held) == ("NSE:TEST", 1)
    with pytest.raises(InsufficientBars):
        run(strategy(), history([99, 101]), start=FOREVER - 1)
    with pytest.raises(InsufficientBars) as cold:
        run(busy(), history(walk(9)))
    assert cold.value.held == 1


def test_an_entry_waits_until_its_average_true_range_is_known() -> None:
    exits = {"stopLoss": {"type": "atr", "atrPeriod": 3, "atrMultiplier": 1}}
    result = run(strategy(exitConditions=exits), history([99, 101, 99, 101, 102, 101, 100, 99]))
    assert [t["entryTime"][11:16] for t in trades(result)] == ["03:49"]


def test_an_entry_cannot_be_sized_by_a_missing_range() -> None:
    sizing = {"method": "volatility_based", "riskPercentage": 1, "atrPeriod": 1, "quantity": None}
    always = {"conditions": [price("above", 50)]}
    result = run(strategy(positionSizing=sizing, entryConditions=always), history([100.0] * 20))
    assert trades(result) == []
    assert result.performance["rejectedSignals"] == {
        "position_limit": 0,
        "insufficient_cash": 0,
        "below_one_lot": 0,
        "daily_loss_limit": 0,
        "outside_session": 0,
        "both_sides": 0,
        "limit_not_reached": 0,
        "kill_switch": 0,
        "stale_data": 0,
        "after_session": 0,
        "circuit": 0,
    }


def test_intraday_positions_end_with_the_session() -> None:
    sessions = Sessions.build([Regime(0, 40_000, 33300, 33300 + 20 * MINUTE)])
    product = {"productType": "intraday"}
    result = run(
        strategy(executionSettings=product), history([99, 101, *[102] * 30], sessions=sessions)
    )
    assert [(t["exitTime"][11:16], t["exitReason"]) for t in trades(result)] == [
        ("03:50", "square_off")
    ]


def test_intraday_positions_need_a_calendar() -> None:
    with pytest.raises(MissingCalendar, match="2024-01-01"):
        run(strategy(executionSettings={"productType": "intraday"}), history([99, 101, 102]))


def test_lot_and_tick_of_the_contract_hold() -> None:
    sizing = {"method": "fixed_quantity", "quantity": 130}
    contract = Contract(lot=50, tick=0.5)
    rows = trades(
        run(
            strategy(positionSizing=sizing),
            history([99, 101, 102, 90], contract=contract),
            capital=1e6,
        )
    )
    assert [(t["quantity"], t["exitPrice"]) for t in rows] == [(100.0, 98.5)]


@pytest.mark.parametrize(
    ("setting", "charged"), [("standard", True), (None, True), ("none", False)]
)
def test_charges_come_from_the_schedule_unless_switched_off(
    setting: str | None, charged: bool
) -> None:
    schedule = (ChargeRow("cash", 0, brokerage=0.001),)
    result = run(
        strategy(executionSettings={"charges": setting}),
        history([99, 101, 102, 103], contract=Contract(segment="cash")),
        schedule=schedule,
    )
    assert (result.performance["charges"] != 0) == charged
    assert ("no_charges" not in notes(result)) == charged


def notes(result: SimulationResult) -> dict[str, str]:
    messages = result.receipt["notes"]
    assert isinstance(messages, list)
    return {note["code"]: note["message"] for note in messages}


MONEY_FLOW = {
    "type": "indicator_value",
    "indicator": {"type": "MFI"},
    "operator": "below",
    "value": 20,
}


def without_volume(given: History) -> History:
    silent = frozen(np.zeros(len(given.candles)))
    return replace(given, candles=replace(given.candles, volume=silent))


@pytest.mark.parametrize("daily", [{}, {"timeframe": "1d"}])
def test_a_symbol_without_volume_is_not_traded_by_it_and_the_result_reports_it(
    daily: dict[str, str],
) -> None:
    condition = {**MONEY_FLOW, "indicator": {"type": "MFI", **daily}}
    given = strategy(entryConditions={"conditions": [condition]})
    closes = (100 * 0.999 ** np.arange(120)).tolist()
    known, silent = history(closes), without_volume(history(closes, symbol="NSE:OTHER"))
    if daily:
        known, silent = (
            replace(symbol, higher_timeframes={"1d": candles_of_days(symbol, 40)})
            for symbol in (known, silent)
        )
    info = given.basicInfo.model_copy(update={"symbols": ("NSE:TEST", "NSE:OTHER")})
    result = run(given.model_copy(update={"basicInfo": info}), known, silent)
    assert set(result.trades["symbol"].tolist()) == {0}
    assert notes(result)["no_volume"] == (
        "No volume is stored of NSE:OTHER. Conditions on MFI are not true without it."
    )
    assert "no_volume" not in notes(run(given, known))
    assert "no_volume" not in notes(run(strategy(), without_volume(history(walk(30)))))


def candles_of_days(given: History, days: int) -> Candles:
    """Make falling days before the history, with its volume or none."""
    times = MONDAY - 33_300 - DAY * np.arange(days, 0, -1)
    closes = 200 * 0.99 ** np.arange(days)
    volume = np.full(days, given.candles.volume[0])
    return Candles.build(times, open=closes, high=closes, low=closes, close=closes, volume=volume)


def test_a_result_names_symbols_without_charges() -> None:
    day = 19_723  # 2024-01-01
    schedule = (ChargeRow("a", day), ChargeRow("b", day + 1))
    messages = notes(
        run(
            strategy(),
            history([99] * 5, contract=Contract(segment="a")),
            history([99] * 5, symbol="NSE:LATER", contract=Contract(segment="b")),
            history([99] * 5, symbol="NSE:UNKNOWN", contract=Contract(segment="c")),
            schedule=schedule,
        )
    )
    assert messages == {"no_charges": "No charges are included for NSE:LATER, NSE:UNKNOWN."}


def test_rule_5_an_entry_without_a_range_still_closes_as_an_opposite_signal() -> None:
    """The fourth bar never moves: its range is 0, so the short is not entered, but the
    long ends.
    """
    volume = {"type": "indicator_value", "indicator": {"type": "VOLUME"}}
    conditions = [
        {**volume, "operator": "above", "value": 5, "side": "long"},
        {**volume, "operator": "below", "value": 2, "side": "short"},
    ]
    given = strategy(
        entryConditions={"positionType": "both", "conditions": conditions},
        exitConditions={"stopLoss": {"type": "atr", "atrPeriod": 1, "atrMultiplier": 5}},
    )
    flat, high, low = np.full(6, 100.0), np.full(6, 101.0), np.full(6, 99.0)
    high[3] = low[3] = 100
    volumes = np.array([3.0, 9, 3, 1, 3, 3])
    times = MONDAY + 60 * np.arange(6)
    candles = Candles.build(times, open=flat, high=high, low=low, close=flat, volume=volumes)
    trades = run(given, History("NSE:TEST", candles)).trades
    assert trades["side"].tolist() == [1]
    assert trades["exit_time"].tolist() == [times[4]]
    assert [EXIT_REASONS[reason] for reason in trades["reason"]] == ["opposite_signal"]


def test_a_result_says_that_shares_were_sold_short_in_delivery() -> None:
    future = "NSE:NIFTY24JANFUT"
    for product in ("delivery", "carryforward"):
        given = busy(executionSettings={"productType": product})
        assert "delivery_shorts" in notes(run(given, history(walk(30))))
        given = busy(basicInfo={"symbols": [future]}, executionSettings={"productType": product})
        assert "delivery_shorts" not in notes(run(given, history(walk(30), symbol=future)))
    given = strategy(executionSettings={"productType": "delivery"})
    assert "delivery_shorts" not in notes(run(given, history(walk(30))))


def test_a_result_counts_the_shares_held_short_over_night() -> None:
    """Of three trades one is within a day, one over night, and one in a future over night."""
    given = strategy(
        basicInfo={"timeframe": "1h", "symbols": ["NSE:ONE", "NSE:NIFTY24JANFUT"]},
        entryConditions={"positionType": "short", "conditions": [price("below", 100)]},
        exitConditions={
            "maxHoldingCandles": 1,
            "stopLoss": {"type": "percentage", "percentage": 9},
        },
        executionSettings={"productType": "carryforward"},
        riskParameters={"maxOpenPositions": 2},
    )
    hours = MONDAY + np.array([0, 3600, 7200, DAY, DAY + 3600, 2 * DAY])
    closes = {
        "NSE:ONE": [99, 101, 101, 99, 101, 101],
        "NSE:NIFTY24JANFUT": [101] * 3 + [99, 101, 101],
    }
    histories = []
    for symbol, prices in closes.items():
        column = np.array(prices, float)
        bars = Candles.build(
            hours, open=column, high=column, low=column, close=column, volume=np.ones(6)
        )
        histories.append(History(symbol, bars))
    result = run(given, *histories, capital=1e6)
    assert len(result.trades) == 3
    assert " 1 trades held shares short over night" in notes(result)["delivery_shorts"]


@pytest.mark.parametrize(("brokerage", "equity"), [(5.0, 0.0), (8.0, -6.0)])
def test_an_account_emptied_by_the_last_charges_is_ruined(brokerage: float, equity: float) -> None:
    given = strategy(
        positionSizing={"method": "fixed_quantity", "quantity": 90},
        entryConditions={"conditions": [price("above", 100)]},
        exitConditions={"stopLoss": None, "maxHoldingCandles": 99},
    )
    opens, closes = np.array([[99, 99, 101, 100, 89, 89], [99, 99, 101, 89, 89, 89]], float)
    candles = Candles.build(
        MONDAY + 60 * np.arange(6),
        open=opens,
        high=np.maximum(opens, closes),
        low=np.minimum(opens, closes),
        close=closes,
        volume=np.ones(6),
    )
    contract = Contract(margin=0.1, segment="a")
    result = run(
        given,
        History("NSE:TEST", candles, contract=contract),
        capital=1000.0,
        schedule=(ChargeRow("a", 0, brokerage_flat=brokerage),),
    )
    assert result.performance["finalEquity"] == equity
    assert "ruined" in notes(result)


def test_a_ruined_result_ends_early_and_says_so() -> None:
    sizing = {"method": "fixed_quantity", "quantity": 1000}
    result = run(
        strategy(positionSizing=sizing, exitConditions={"stopLoss": None, "maxHoldingCandles": 99}),
        history([99, 101, 101, 80, 120], contract=Contract(margin=0.1)),
    )
    assert "ruined" in notes(result)
    assert len(result.curve) == 4
    assert trades(result)[-1]["exitReason"] == "end_of_data"
    assert result.performance["finalEquity"] == 10_000 - 21 * 990


def test_a_short_may_lose_more_than_all_equity() -> None:
    """Its growth is -100 % a year: a root of a negative number would be a complex number."""
    close = np.array([100.0] * 40 + [125, 156.25, 195.3, 244.15, 305.2, 476.85, 400])
    days = MONDAY - 33_300 + DAY * np.arange(len(close))
    candles = Candles.build(
        days, open=close, high=close, low=close, close=close, volume=np.full(len(close), 1e6)
    )
    given = strategy(
        basicInfo={"timeframe": "1d"},
        positionSizing={"method": "percentage_of_equity", "percentage": 100, "quantity": None},
        entryConditions={"positionType": "short", "conditions": [price("above", 1)]},
        exitConditions={"stopLoss": None, "maxHoldingCandles": 99},
    )
    result = run(given, History("NSE:TEST", candles))
    assert "ruined" in notes(result)
    assert [trade["exitPrice"] for trade in trades(result)] == [244.15]
    assert result.performance["finalEquity"] == 10_000 - 100 * 144.15
    assert result.performance["cagr"] == -100
    assert result.performance["maxDrawdown"] == pytest.approx(144.15)
    json.dumps(round_for_wire(result.performance), allow_nan=False)


def test_rule_14_the_same_inputs_give_the_same_bytes() -> None:
    first, second = (run(busy(), history(walk(300)), seed=5) for _ in range(2))
    assert first.trades.tobytes() == second.trades.tobytes()
    assert first.curve.tobytes() == second.curve.tobytes()
    assert (first.performance, first.receipt) == (second.performance, second.receipt)
    assert first.receipt["seed"] == 5


def test_rule_14_the_receipt_changes_with_everything_that_went_in() -> None:
    closes = walk(300)
    plain = run(busy(), history(closes)).receipt
    other_bar = run(busy(), history([*closes[:-1], 1.0])).receipt
    assert changed(plain, other_bar) == {"candles"}
    assert changed(
        plain, run(busy(executionSettings={"slippage": 1}), history(closes)).receipt
    ) == {"configuration"}
    other_lot = history(closes, contract=Contract(lot=2))
    assert changed(plain, run(busy(), other_lot).receipt) == {"rulebook"}
    schedule = (ChargeRow("other", 0, 0.1),)
    assert changed(plain, run(busy(), history(closes), schedule=schedule).receipt) == {"rulebook"}


def changed(a: SimulationReceipt, b: SimulationReceipt) -> set[str]:
    return {name for name, value in a.items() if value != dict(b)[name]}


def test_rule_15_the_curve_in_buckets_keeps_its_lows_highs_and_drawdowns() -> None:
    result = run(busy(positionSizing={"quantity": 90}), history(walk(1_000)))
    equity = result.curve["equity"]
    points = curve_points(result.curve, 7)
    assert len(points) == 7
    edges = [i * 1_000 // 7 for i in range(8)]
    under = 1 - equity / np.maximum.accumulate(equity)
    for point, first, stop in zip(points, edges[:-1], edges[1:], strict=True):
        part = equity[first:stop]
        point_values = (point["equity"], point["low"], point["high"])
        assert point_values == tuple(
            rounded(equity, Unit.RUPEES) for equity in (part[-1], part.min(), part.max())
        )
        assert point["drawdown"] == pytest.approx(under[first:stop].max() * 100)
    assert points[-1]["time"] == "2024-01-01T20:24:00.000Z"
    deepest = round_for_wire(result.performance)["maxDrawdown"]
    assert max(p["drawdown"] for p in points) == deepest


def test_rule_15_a_short_curve_is_shown_row_by_row() -> None:
    points = curve_points(run(strategy(), history([99] * 4)).curve, 500)
    assert [point["time"] for point in points] == [
        f"2024-01-01T03:{minute}:00.000Z" for minute in (45, 46, 47, 48)
    ]


def test_warming_up_compiles_everything_for_a_simulation() -> None:
    from apps.engine.kernel import kernel

    warm_up()
    compiled = len(kernel.run_all.signatures)
    run(busy(), history(walk(100)))
    assert len(kernel.run_all.signatures) == compiled


def test_a_contract_settles_when_its_last_session_is_over() -> None:
    """With one position at a time, the share is bought when the future's money is free."""
    closes, close = [99, 101, 102, 103, 104, 105], MONDAY + 4 * MINUTE
    for ends, end in ((close, FOREVER), (close - 1, FOREVER), (None, FOREVER), (close, close - 1)):
        future = history(closes[:4], symbol="NSE:FUT", contract=Contract(ends=ends))
        share = history(closes, symbol="NSE:SHARE")
        single = strategy(
            basicInfo={"symbols": ["NSE:FUT", "NSE:SHARE"]},
            entryConditions={"conditions": [price("above", 100)]},
            riskParameters={"maxOpenPositions": 1},
        )
        exits = [
            (t["symbol"], t["exitReason"]) for t in trades(run(single, future, share, end=end))
        ]
        if ends is None or end < FOREVER:
            assert exits == [("NSE:FUT", "end_of_data")]
        else:
            assert exits == [("NSE:FUT", "expiry"), ("NSE:SHARE", "end_of_data")]


def test_a_contract_settles_at_its_last_close_with_the_last_bar() -> None:
    closes = [99, 101, 102, 103]
    held = run(strategy(), history(closes, contract=Contract(ends=MONDAY + 4 * MINUTE)))
    plain = run(strategy(), history(closes))
    (settled,), (ended,) = trades(held), trades(plain)
    assert (settled["exitReason"], ended["exitReason"]) == ("expiry", "end_of_data")
    assert settled | {"exitReason": "end_of_data"} == ended
    assert held.curve.tobytes() == plain.curve.tobytes()
    assert held.receipt["rulebook"] != plain.receipt["rulebook"]


def test_rule_13_nothing_trades_after_an_expiry() -> None:
    """The bars are four in each of five days; the contract ends with the second day."""
    day = 86_400
    bars = [history([99, 101, 102, 103], start=MONDAY + n * day).candles for n in range(5)]
    columns = {
        name: np.concatenate([getattr(day_bars, name) for day_bars in bars])
        for name in ("time", "open", "high", "low", "close", "volume")
    }
    candles = Candles.build(columns.pop("time"), **columns)
    contract = Contract(ends=MONDAY + day + 4 * MINUTE, settlement=Settlement(104.5, 0.0))
    result = run(strategy(), History("NSE:TEST", candles, contract=contract))
    assert {t["exitReason"] for t in trades(result)} == {"expiry"}
    assert trades(result)[-1]["exitPrice"] == 104.5
    assert len(result.curve) == 8
    notes = {note["code"]: note["message"] for note in result.receipt["notes"]}
    assert "12 of NSE:TEST" in notes["after_expiry"]
    assert result.curve["equity"][-1] == pytest.approx(10_000 + sum(net_profits(result.trades)))


def test_rule_13_the_row_of_a_settlement_has_the_equity_after_it() -> None:
    closes = [99, 101, 102, 103, 104, 105]
    contract = Contract(ends=MONDAY + 4 * MINUTE, settlement=Settlement(110.0, 0.0))
    future = history(closes[:4], symbol="NSE:FUT", contract=contract)
    share = history([50] * 6, symbol="NSE:SHARE")
    both = strategy(
        basicInfo={"symbols": ["NSE:FUT", "NSE:SHARE"]},
        entryConditions={"conditions": [price("above", 100)]},
    )
    result = run(both, future, share)
    (trade,) = trades(result)
    assert (trade["exitReason"], trade["exitPrice"]) == ("expiry", 110.0)
    assert result.curve["equity"][3] == result.curve["equity"][-1] == 10_000 + trade["profit"]


def test_terms_hold_from_their_day_on() -> None:
    """The lot is 3 on Monday, and 5 from Tuesday on; stops are rounded to the tick of the day."""
    day = 86_400
    tuesday = int(ist_day(np.array([MONDAY + day]))[0])
    closes = [99, 101, 101, 98, 98]
    bars = [history(closes, start=MONDAY + n * day).candles for n in (0, 1)]
    columns = {
        name: np.concatenate([getattr(day_bars, name) for day_bars in bars])
        for name in ("time", "open", "high", "low", "close", "volume")
    }
    candles = Candles.build(columns.pop("time"), **columns)
    terms = Contract(lot=3.0, later=((tuesday, Contract(lot=5.0, tick=0.5)),))
    always = strategy(
        positionSizing={"quantity": 5},
        exitConditions={"stopLoss": {"type": "percentage", "percentage": 2}},
    )
    result = run(always, History("NSE:TEST", candles, contract=terms))
    fills = [(t["quantity"], t["exitPrice"]) for t in trades(result)]
    assert fills == [(3.0, 98.95), (5.0, 98.5)]


def test_rule_15_exposure_counts_the_rows_before_a_late_square_off() -> None:
    """The first symbol has bars until minute 80 of 105, and from the third minute of the next day
    on; the second has all, and is never bought. So 80 rows are followed by 24 and by two more.
    """
    hours = Sessions.build([Regime(19_000, 21_000, 9 * 3600 + 15 * 60, 11 * 3600)])
    day = MONDAY + np.arange(105) * 60
    times = np.concatenate([day, MONDAY + 86_400 + np.arange(5) * 60])
    minutes = np.concatenate([day[:81], times[107:108]])

    def flat(symbol: str, starts: NDArray[np.int64], price: float) -> History:
        prices = np.full(len(starts), price)
        bars = Candles.build(
            starts,
            open=prices,
            high=prices,
            low=prices,
            close=prices,
            volume=np.full(len(starts), 1e6),
        )
        return History(symbol, bars, hours)

    given = strategy(
        basicInfo={"timeframe": "1m", "symbols": ["NSE:ONE", "NSE:TWO"]},
        entryConditions={"positionType": "long", "conditions": [price("above", 80)]},
        exitConditions={"stopLoss": {"type": "percentage", "percentage": 50}},
        executionSettings={"productType": "intraday", "slippage": 0},
    )
    histories = [flat("NSE:ONE", minutes, 100.0), flat("NSE:TWO", times, 50.0)]
    result = simulate(given, histories, start=0, end=2**40, capital=100_000.0)
    trade = result.trades[0]
    assert (trade["entry_time"], trade["exit_time"]) == (day[1], day[80])
    assert EXIT_REASONS[trade["reason"]] == "square_off"
    assert len(result.trades) == 1
    assert result.performance["exposure"] == pytest.approx((80 + 24 + 2) / 110 * 100)


def test_a_result_lists_the_dividends_it_leaves_out() -> None:
    """Ten shares are held from the first day on, into the ex-dates of the second and the fourth.

    The dividend on the day of the entry does not belong to them, and one after the last bar to
    nobody.
    """
    day, first = 86_400, int(ist_day(np.array([MONDAY]))[0])
    starts = MONDAY + day * np.arange(5)
    prices = np.full(5, 100.0)
    bars = Candles.build(
        starts, open=prices, high=prices, low=prices, close=prices, volume=np.full(5, 1e6)
    )
    payouts = tuple(Payout(first + n, 10.0 + n) for n in (0, 1, 2, 4, 6))
    held = History("NSE:TEST", bars, payouts=payouts)
    always = strategy(
        basicInfo={"timeframe": "1d", "symbols": ["NSE:TEST"]},
        entryConditions={"conditions": [price("above", 80)]},
        positionSizing={"method": "fixed_quantity", "quantity": 10},
        executionSettings={"productType": "delivery", "slippage": 0},
    )
    result = run(always, held)
    assert [trade["quantity"] for trade in trades(result)] == [10]
    notes = {note["code"]: note["message"] for note in result.receipt["notes"]}
    assert notes["dividends_left_out"] == (
        "Dividends are left out: ₹260 of positions that were held into 2 ex-dates, and ₹3,700 of"
        " buying all symbols at the first open and holding them."
    )
    assert run(always, History("NSE:TEST", bars)).curve.tobytes() == result.curve.tobytes()


def test_a_level_that_is_unknown_makes_no_entry() -> None:
    """The stop reads a minimum of ten candles, so the first crossings make no entry."""
    closes = [101, 99] * 12
    level = {"type": "level", "price": {"type": "MIN", "period": 10, "source": "low"}, "buffer": 5}
    given = strategy(exitConditions={"stopLoss": level})
    result = simulate(given, [history(closes)], start=0, end=2**40, capital=1e6)
    first = int(result.trades["entry_time"][0] - MONDAY) // 60
    assert first == 11
    rejected: Any = result.performance["rejectedSignals"]
    assert rejected["level_beyond_entry"] == 0


def test_a_result_without_levels_does_not_count_their_refusals() -> None:
    result = simulate(strategy(), [history([99, 101, 102])], start=0, end=2**40, capital=1e6)
    rejected: Any = result.performance["rejectedSignals"]
    assert not {"level_beyond_entry", "entry_limit", "cooldown", "daily_profit_limit"} & set(
        rejected
    )
