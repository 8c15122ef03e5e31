"""Regimes: each trade is in one regime of each kind, from facts known before its date opened."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles import Candles, ist_day
from apps.engine.candles.sessions import Regime, Sessions
from apps.engine.evidence.inputs import EvidenceInput
from apps.engine.evidence.regimes import LOOK_BACK, regimes_section
from apps.engine.evidence.sections import CheckStatus
from apps.engine.kernel.records import TRADE
from apps.engine.results.result_data import ResultData
from apps.engine.simulation.charges import ChargeRow
from apps.engine.simulation.plan import Contract
from apps.engine.simulation.simulation_input import SimulationInput
from apps.engine.simulation.timeline import History
from tests.benchmarks.random_candles import session_bars
from tests.engine.strategies import strategy

DAYS = 80
CANDLES = session_bars(DAYS, length=900)
DATES = np.unique(ist_day(CANDLES.time))
FIRST_BARS = np.searchsorted(ist_day(CANDLES.time), DATES)
NEW_TAX, NEW_LOT, NEW_HOURS = map(int, DATES[[30, 40, 60]])
SCHEDULE = (
    ChargeRow("", 0, tax_sell=0.001),
    ChargeRow("", int(DATES[20]), tax_sell=0.001),  # says the same again
    ChargeRow("", NEW_TAX, tax_sell=0.002),
)
CONTRACT = Contract(later=((NEW_LOT, Contract(lot=50)),))
SESSIONS = Sessions.build(
    [
        Regime(0, int(DATES[10]), 33_300, 55_800),
        Regime(int(DATES[10]) + 1, NEW_HOURS - 1, 33_300, 55_800),
        Regime(NEW_HOURS, 99_999, 33_300, 55_200),
    ]
)


def result_of(gross: Any, candles: Candles = CANDLES) -> ResultData:
    """Make a result with one trade a day, entered at its first bar and left at the next."""
    trades = np.zeros(DAYS, TRADE)
    trades["entry_time"] = candles.time[FIRST_BARS]
    trades["exit_time"] = candles.time[FIRST_BARS + 1]
    trades["bars"], trades["side"], trades["value"], trades["gross"] = 1, 1, 100.0, gross
    equity = np.full(len(candles), 1e6)
    return ResultData(trades, {"time": candles.time, "equity": equity}, 1e6, [candles])


def section_of(result: ResultData, **fields: Any) -> Any:
    steps = strategy().model_dump(mode="json", exclude_none=True, by_alias=True)
    histories = [
        History("NSE:TEST", candles, contract=CONTRACT, sessions=SESSIONS)
        for candles in result.candles
    ]
    inputs = SimulationInput(steps, histories, 0, 2**40, 1e6, SCHEDULE)
    return regimes_section(EvidenceInput(inputs, result.trades, result.curve, **fields))


def rising_days() -> NDArray[np.bool_]:
    """Return whether the market's growth over the days before each day was in the top third."""
    closes = CANDLES.close[np.append(FIRST_BARS[1:], len(CANDLES)) - 1]
    worth = np.append(CANDLES.open[0], closes)
    growth = worth[LOOK_BACK:-1] / worth[: -1 - LOOK_BACK]
    return np.append(np.zeros(LOOK_BACK, np.bool_), growth > np.quantile(growth, 2 / 3))


def test_each_trade_has_one_regime_of_each_kind() -> None:
    result = result_of(np.arange(DAYS) - 20.0)
    for groups in section_of(result).figures.values():
        assert sum(group["trades"] for group in groups) == DAYS
        assert sum(group["netProfit"] for group in groups) == pytest.approx(result.net)


def test_thirds_are_by_the_days_before() -> None:
    figures = section_of(result_of(1.0)).figures
    for name in ("trend", "volatility"):
        counts = {group["regime"]: group["trades"] for group in figures[name]}
        assert counts.pop("unknown") == LOOK_BACK
        assert sum(counts.values()) == DAYS - LOOK_BACK
        assert all(count == (DAYS - LOOK_BACK) // 3 for count in counts.values())
    gross = np.where(rising_days(), 5.0, 0.0)
    trend = {g["regime"]: g["netProfit"] for g in section_of(result_of(gross)).figures["trend"]}
    assert trend == {"falling": 0, "level": 0, "rising": gross.sum(), "unknown": 0}


def test_regimes_are_in_the_order_that_people_read_them_in() -> None:
    figures = section_of(result_of(1.0)).figures
    names = {kind: [group["regime"] for group in groups] for kind, groups in figures.items()}
    assert names["volatility"] == ["low", "middle", "high", "unknown"]
    assert names["weekday"] == ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]


def test_a_gap_is_an_open_away_from_the_last_close() -> None:
    price = CANDLES.close.copy()
    price[FIRST_BARS[10] :] *= 1.02
    flat = Candles.build(CANDLES.time, open=price, high=price, low=price, close=price, volume=price)
    gaps = {g["regime"]: g["trades"] for g in section_of(result_of(1.0, flat)).figures["gap"]}
    assert gaps["up"] >= 1
    assert gaps["none"] > DAYS / 2


def test_only_known_expiries_count() -> None:
    result = result_of(np.where(np.arange(DAYS) % 8, -1.0, 50.0))
    assert section_of(result).figures["expiry"][0]["regime"] == "unknown"
    section = section_of(result, expiries={"NSE:TEST": DATES[::8].tolist()})
    counts = {group["regime"]: group["trades"] for group in section.figures["expiry"]}
    assert counts == {"expiry": DAYS / 8, "none": DAYS * 7 / 8}
    assert "expiry days" in section.sentence


def test_rules_divide_where_charges_contracts_and_hours_change() -> None:
    since = section_of(result_of(1.0)).figures["rulesSince"]
    assert [(group["trades"], group["changed"]) for group in since] == [
        (30, ["charges", "sessions"]),  # the first that are known
        (10, ["charges"]),
        (20, ["contract"]),
        (20, ["sessions"]),
    ]
    days = ["1970-01-01", *(str(np.datetime64(day, "D")) for day in (NEW_TAX, NEW_LOT, NEW_HOURS))]
    assert [group["regime"] for group in since] == days


def test_rules_and_months_that_carry_a_result_are_named() -> None:
    section = section_of(result_of(np.where(np.arange(DAYS) < 60, -1.0, 50.0)))
    assert section.check.status == CheckStatus.DOUBT
    assert f"the rules since {np.datetime64(NEW_HOURS, 'D')}" in section.sentence
    month = np.datetime_as_string(DATES[50].astype("M8[D]"), unit="M")
    is_month = np.datetime_as_string(DATES.astype("M8[D]"), unit="M") == month
    assert f"the month {month}" in section_of(result_of(np.where(is_month, 50.0, -1.0))).sentence


def test_a_regime_that_holds_all_profit_is_named() -> None:
    falling = section_of(result_of(1.0)).figures["trend"][0]["trades"]
    assert rising_days().sum() == falling
    section = section_of(result_of(np.where(rising_days(), 10.0, -1.0)))
    assert section.check.status == CheckStatus.DOUBT
    assert "a rising market" in section.sentence
    early = section_of(result_of(np.where(np.arange(DAYS) < LOOK_BACK, 10.0, -1.0)))
    assert "unknown" not in early.sentence
    assert section_of(result_of(1.0)).check.status == CheckStatus.PASS
    assert section_of(result_of(-1.0)).check.status == CheckStatus.UNKNOWN
