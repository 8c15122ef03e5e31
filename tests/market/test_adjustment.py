"""Prices across splits and bonuses: stored as traded, adjusted when read."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.times import day_number
from apps.engine.candles import Candles, ist_day
from apps.market import services
from apps.market.candles import corporate_actions, reading, writing
from apps.market.candles.adjustment import Adjustment, RatioChange
from apps.market.candles.corporate_actions import RATIOS, ActionRow, find_split_candidates
from tests.market.bars import NOW, are_same_candles, at, flat_candles, store_candles
from tests.market.candle_files import ImportedSeries

SBIN = "NSE:SBIN"


def days(first: str, *prices: float) -> Candles:
    return flat_candles(
        [at(f"{first} 00:00") + 86400 * i for i in range(len(prices))], list(prices)
    )


def act(
    ex_date: str, after: int, before: int = 1, *, kind: str = "split", **effect: Decimal
) -> None:
    row = ActionRow(SBIN, date.fromisoformat(ex_date), kind, before, after, "a test", **effect)
    corporate_actions.store_actions(rows=[row], now=NOW)


def adjusted(timeframe: str, end: str = "2030-01-01") -> reading.AdjustedCandles:
    return reading.read_adjusted(SBIN, timeframe, start=0, end=at(f"{end} 00:00"))


@given(st.lists(st.tuples(st.integers(1, 30), st.sampled_from(RATIOS)), max_size=5))
def test_each_bar_is_divided_by_the_ratios_of_later_days(
    changes: list[tuple[int, Fraction]],
) -> None:
    bars = flat_candles([86400 * day for day in range(2, 28)], 120.0)
    known = [RatioChange(day, ratio) for day, ratio in changes]
    done = Adjustment.to(20, known).apply(bars)
    for day, close, volume in zip(ist_day(bars.time), done.close, done.volume, strict=True):
        factor = Fraction(1)
        for change in known:
            factor *= change.ratio if day < change.day <= 20 else 1
        assert close == pytest.approx(120 / float(factor))
        assert close * volume == pytest.approx(1200)


def test_without_a_change_the_very_bars_are_given() -> None:
    bars = days("2024-01-01", 100, 101)
    assert Adjustment.to(99999, []).apply(bars) is bars


@pytest.mark.django_db
def test_stored_bars_keep_their_traded_prices() -> None:
    bars = days("2024-01-01", 1000, 1010, 102, 103)
    store_candles(SBIN, "1d", bars)
    act("2024-01-03", 10)
    assert are_same_candles(reading.read_bars(SBIN, "1d", start=0, end=2**33), bars)
    history = adjusted("1d")
    assert history.candles.close.tolist() == [100, 101, 102, 103]
    assert history.candles.volume.tolist() == [100, 100, 10, 10]
    assert [str(action) for action in history.actions] == [f"{SBIN} split 10:1 on 2024-01-03"]


@pytest.mark.django_db
def test_prices_are_in_the_terms_of_the_last_day_before_the_end() -> None:
    store_candles(SBIN, "1d", days("2024-01-01", 1000, 1010, 102, 103))
    act("2024-01-03", 10)
    until = adjusted("1d", "2024-01-03")
    assert (until.candles.close.tolist(), until.actions) == ([1000, 1010], ())


@pytest.mark.django_db
def test_all_timeframes_of_a_symbol_are_adjusted_alike() -> None:
    store_candles(SBIN, "1d", days("2024-01-01", 1000, 1010, 102))
    store_candles(SBIN, "15m", flat_candles([at("2024-01-02 09:15")], [1005.0]))
    act("2024-01-03", 10)
    assert adjusted("15m").candles.close.tolist() == [100.5]
    assert adjusted("1d").candles.close.tolist() == [100, 101, 102]


@pytest.mark.django_db
def test_a_future_split_changes_nothing() -> None:
    store_candles(SBIN, "1d", days("2024-01-01", 1000, 1010))
    act("2024-01-03", 10)
    assert adjusted("1d").candles.close.tolist() == [1000, 1010]


@pytest.mark.django_db
def test_a_split_and_a_bonus_of_one_day_multiply() -> None:
    store_candles(SBIN, "1d", days("2024-01-01", 1000, 250))
    act("2024-01-02", 2)
    act("2024-01-02", 2, kind="bonus")
    assert adjusted("1d").candles.close.tolist() == [250, 250]


@pytest.mark.django_db
def test_a_demerger_reduces_the_price_and_adds_no_share() -> None:
    store_candles(SBIN, "1d", days("2024-01-01", 1000, 920))
    act("2024-01-02", 1, kind="demerger", price_factor=Decimal("0.9"))
    history = adjusted("1d")
    assert history.candles.close.tolist() == pytest.approx([900, 920])
    assert history.candles.volume.tolist() == [10, 10]
    assert history.unpriced == ()


@pytest.mark.django_db
def test_rights_are_worth_their_part_of_the_price_before() -> None:
    store_candles(SBIN, "1d", days("2024-01-01", 900, 1000, 880))
    # One share for 400 beside four of 1,000: five of 880 each.
    act("2024-01-03", 5, 4, kind="rights", issue_price=Decimal(400))
    history = adjusted("1d")
    assert history.candles.close.tolist() == pytest.approx([792, 880, 880])
    assert history.candles.volume.tolist() == [10, 10, 10]


@pytest.mark.django_db
@pytest.mark.parametrize("price", [Decimal(1000), Decimal(1200)])
def test_rights_at_the_market_or_above_change_no_price(price: Decimal) -> None:
    store_candles(SBIN, "1d", days("2024-01-01", 1000, 990))
    act("2024-01-02", 5, 4, kind="rights", issue_price=price)
    assert adjusted("1d").candles.close.tolist() == [1000, 990]


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["rights", "demerger"])
def test_an_action_of_unknown_effect_changes_nothing_and_is_reported(kind: str) -> None:
    store_candles(SBIN, "1d", days("2024-01-01", 1000, 910))
    act("2024-01-02", 2 if kind == "rights" else 1, kind=kind)
    history = adjusted("1d")
    assert history.candles.close.tolist() == [1000, 910]
    assert (history.actions, [action.kind for action in history.unpriced]) == ((), [kind])


@pytest.mark.django_db
@pytest.mark.parametrize("timeframe", ["15m", "1d"])
def test_longer_bars_made_from_minutes_are_adjusted_too(timeframe: str) -> None:
    times = [at(f"2024-01-0{day} 09:15") + 60 * i for day in (2, 3) for i in range(375)]
    store_candles(SBIN, "1m", flat_candles(times, [30.0] * 375 + [20.0] * 375))
    act("2024-01-03", 3, 2, kind="bonus")
    candles = adjusted(timeframe).candles
    assert set(candles.close.tolist()) == {20.0}
    assert candles.volume.sum() == 375 * 15 + 375 * 10


@pytest.mark.django_db
def test_a_week_with_a_split_in_it_is_made_from_adjusted_days() -> None:
    store_candles(SBIN, "1d", days("2024-01-01", 1000, 1010, 102, 103, 104))
    store_candles(
        SBIN, "1w", flat_candles([at("2023-12-25 00:00"), at("2024-01-01 00:00")], [990.0, 500.0])
    )
    act("2024-01-03", 10)
    weeks = adjusted("1w").candles
    assert weeks.open.tolist() == [99, 100]
    assert weeks.high.tolist() == [99, 104]
    assert weeks.close.tolist() == [99, 104]


@pytest.mark.django_db
def test_prices_adjusted_by_their_source_stay_unchanged() -> None:
    kind = writing.CandleKind(adjusted=True)
    bars = days("2024-01-01", 100, 101, 102)
    services.append(symbol=SBIN, timeframe="1d", candles=bars, kind=kind, now=NOW)
    act("2024-01-03", 10)
    history = adjusted("1d")
    assert (are_same_candles(history.candles, bars), history.actions) == (True, ())


@pytest.mark.django_db
def test_pages_are_in_the_terms_of_the_newest_day() -> None:
    store_candles(SBIN, "1d", days("2024-01-01", 1000, 1010, 102, 103))
    act("2024-01-03", 10)
    early = reading.read_page(
        SBIN, "1d", start=None, end=at("2024-01-03 00:00"), limit=1, adjusted=True
    )
    assert early.candles.close.tolist() == [101]
    late = reading.read_page(SBIN, "1d", start=None, end=None, limit=2, adjusted=True)
    assert (late.candles.close.tolist(), late.actions) == ([102, 103], ())


@pytest.mark.django_db
def test_an_adjusted_read_asks_for_the_actions_once(
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    store_candles(SBIN, "1d", days("2024-01-01", 1000, 1010, 102, 103))
    # The queries of the rule set, of derivatives and of live bars too; and the chunks, by a
    # separate cursor.
    with django_assert_num_queries(5):
        adjusted("1d")


def test_clean_ratios_between_days_in_a_row_are_suggested() -> None:
    bars = days("2024-01-01", 1000, 1020, 103, 100, 52, 71)
    suggested = [(candidate.day, candidate.ratio) for candidate in find_split_candidates(bars)]
    third, fifth = (day_number(date(2024, 1, day)) for day in (3, 5))
    assert suggested == [(third, Fraction(10)), (fifth, Fraction(2))]
    apart = flat_candles([at("2024-01-01 00:00"), at("2024-02-01 00:00")], [100.0, 50.0])
    assert find_split_candidates(apart) == find_split_candidates(bars.slice(0, 1)) == []


REAL: dict[str, list[Any]] = {
    "nse_raw_SBIN_2008-26": [("2014-11-20", 10)],
    "nse_full_TATASTEEL_2019-26": [("2022-07-28", 10)],
    "nse_full_RELIANCE_2019-26": [("2024-10-28", 2)],
    "nse_raw_BEL_2008-26": [("2015-09-14", 3), ("2017-03-16", 10), ("2022-09-15", 3)],
    "nse_full_YESBANK_2019-26": [],  # it fell by half in a day, but not overnight
    "nse_raw_MARUTI_2008-26": [],
}


@pytest.mark.parametrize("name", REAL)
def test_real_splits_are_suggested_and_make_prices_continuous(name: str, market_data: Path) -> None:
    bars = ImportedSeries(market_data / f"{name}.csv.gz").candles
    candidates = find_split_candidates(bars)
    suggested = [
        (str(np.datetime64(candidate.day, "D")), candidate.ratio) for candidate in candidates
    ]
    assert suggested == REAL[name]
    changes = [RatioChange(candidate.day, candidate.ratio) for candidate in candidates]
    done = Adjustment.to(int(ist_day(bars.time[-1:])[0]), changes).apply(bars)
    overnight = done.open[1:] / done.close[:-1]
    assert 0.7 < overnight.min() < overnight.max() < 1.3
    assert find_split_candidates(done) == []
