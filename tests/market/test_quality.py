"""Gaps, strays and jumps of a series."""

import numpy as np
import pytest

from apps.engine.candles import Candles
from apps.market.candles.quality import Quality, inspect
from apps.market.rulebook.sessions import sessions_of
from tests.market.bars import at, flat_candles, rising_minutes
from tests.market.candle_files import dates


def quality(candles: Candles, timeframe: str = "1d", symbol: str = "NSE:SBIN") -> Quality:
    return inspect(symbol, candles, timeframe, sessions_of(symbol))


def of_days(*stamps: str) -> Candles:
    return flat_candles([at(f"{stamp} 00:00") for stamp in stamps])


def test_sessions_of_the_calendar_that_have_no_bar() -> None:
    # Republic Day, a weekend, and the special Saturday of 2024-01-20 lie between.
    report = quality(of_days("2024-01-18", "2024-01-23", "2024-01-29"))
    assert dates(report.missing_days) == ["2024-01-19", "2024-01-20", "2024-01-24", "2024-01-25"]
    assert not len(
        quality(flat_candles([at("2024-01-01 00:00"), at("2024-01-29 00:00")]), "1w").missing_days
    )


def test_a_year_without_a_calendar_has_no_missing_days() -> None:
    bars = of_days("2015-01-01", "2015-12-31")
    assert not len(quality(bars, symbol="MCX:GOLD15DECFUT").missing_days)


def test_a_close_far_from_both_its_neighbours_is_a_spike() -> None:
    prices = [100.0, 101, 191, 102, 100, 160, 161, 160]
    times = [at("2024-01-01 00:00") + 86400 * i for i in range(len(prices))]
    report = quality(flat_candles(times, prices))
    assert report.spikes.tolist() == [times[2]]
    assert report.jumps.tolist() == [times[2], times[3], times[5]]


def test_large_moves_of_options_are_not_suspicious() -> None:
    prices = [100.0, 191, 102, 10]
    times = [at("2024-01-01 00:00") + 86400 * i for i in range(len(prices))]
    report = quality(flat_candles(times, prices), symbol="NSE:NIFTY24JAN21500CE")
    assert (len(report.spikes), len(report.jumps)) == (0, 0)


@pytest.mark.parametrize(("silent", "runs"), [(9, 0), (10, 1), (0, 0), (375, 0)])
def test_long_runs_without_volume_are_dated_if_others_have_some(silent: int, runs: int) -> None:
    bars = rising_minutes("2024-01-01 09:15", 375)
    volume = np.where(np.arange(375) < silent, 0.0, 5.0)
    prices = {name: getattr(bars, name) for name in ("open", "high", "low", "close")}
    report = quality(Candles.build(bars.time, volume=volume, **prices), "1m")
    assert report.silent_runs.tolist() == [at("2024-01-01 09:15")] * runs
    assert report.without_volume == silent


def test_a_single_bar_has_no_faults() -> None:
    report = quality(of_days("2024-01-01"))
    counted = (
        report.missing_days,
        report.short_days,
        report.unlisted_days,
        report.jumps,
        report.spikes,
    )
    assert [len(values) for values in counted] == [0] * 5
    assert (report.bars, report.off_session, report.without_volume) == (1, 0, 0)
