"""The generated sample has the shape of a market, and offers no profit."""

from typing import Final

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles import Candles, ist_day
from apps.engine.candles.resampling import resample
from apps.market.importers.generated_sample import FIRST_DAY_OF_MINUTES, samples
from apps.market.rulebook.sessions import sessions_of
from tests.market.bars import are_same_candles
from tests.market.test_sample_proofs import LAGS, SPANS, autocorrelation, variance_ratios

TICKS: Final = {
    "NSE:NIFTY": 0.05,
    "NSE:BANKNIFTY": 0.05,
    "NSE:RELIANCE": 0.1,
    "NSE:INFY": 0.1,
    "NSE:TCS": 0.1,
    "NSE:HDFCBANK": 0.05,
    "MCX:SILVERMIC26AUGFUT": 1.0,
}
DAYS_ALONE: Final = {"NSE:INDIAVIX": 0.01, "NSE:MARUTI": 1.0, "NSE:TATASTEEL": 0.01}

Held = dict[tuple[str, str], Candles]


@pytest.fixture(scope="module")
def held() -> Held:
    return {(sample.symbol, sample.timeframe): sample.candles for sample in samples()}


def test_the_sample_is_the_same_every_time(held: Held) -> None:
    assert all(
        are_same_candles(held[sample.symbol, sample.timeframe], sample.candles)
        for sample in samples()
    )


def test_another_seed_makes_other_prices(held: Held) -> None:
    assert not any(
        are_same_candles(held[sample.symbol, sample.timeframe], sample.candles)
        for sample in samples(1)
    )


@pytest.mark.parametrize("symbol", TICKS)
def test_minutes_fill_sessions_and_sum_to_the_last_days(held: Held, symbol: str) -> None:
    minutes, days = held[symbol, "1m"], held[symbol, "1d"]
    sessions = sessions_of(symbol)
    dates = np.unique(ist_day(minutes.time))
    opens, closes = sessions.hours(dates)
    assert len(minutes) == (closes - opens).sum() // 60
    assert str(np.datetime64(int(dates[0]), "D")) == str(FIRST_DAY_OF_MINUTES)
    summed = resample(minutes, "1m", "1d", sessions)
    assert are_same_candles(days.slice(len(days) - len(dates), len(days)), summed)
    assert sessions.is_session(ist_day(days.time)).all()


@pytest.mark.parametrize(("symbol", "tick"), (TICKS | DAYS_ALONE).items())
def test_prices_stand_on_ticks_and_stay_plausible(held: Held, symbol: str, tick: float) -> None:
    for timeframe in ("1d", "1m") if symbol in TICKS else ("1d",):
        candles = held[symbol, timeframe]
        ticks = np.stack([candles.open, candles.high, candles.low, candles.close]) / tick
        assert np.allclose(ticks, np.rint(ticks), atol=1e-6)
        assert candles.close.max() < 6 * candles.close.min()


@pytest.mark.parametrize("symbol", TICKS)
def test_returns_of_the_shipped_sample_do_not_predict_the_next_returns(
    held: Held, symbol: str
) -> None:
    """The limit is looser than in the proofs over many seeds: one of fourteen series may be odd."""
    for timeframe in ("1d", "1m"):
        returns = np.diff(np.log(held[symbol, timeframe].close))
        assert autocorrelation(returns) < 3 * LAGS
        assert max(map(abs, variance_ratios(returns))) < 4.5
        assert abs(returns.mean()) < 4 * returns.std() / np.sqrt(len(returns))


def test_ranked_and_read_symbols_have_days_alone(held: Held) -> None:
    minutes = {symbol for symbol, timeframe in held if timeframe == "1m"}
    assert minutes == set(TICKS)
    days = held["NSE:NIFTY", "1d"].time
    alone = [symbol for symbol, timeframe in held if timeframe == "1d" and symbol not in minutes]
    assert len(alone) == 17
    assert all(np.array_equal(held[symbol, "1d"].time, days) for symbol in alone)


def test_the_statistics_see_a_turn_that_can_be_predicted() -> None:
    noise = np.random.default_rng(5).normal(0, 1, 20_000)
    drifting = noise + 0.15 * np.repeat(np.random.default_rng(6).normal(0, 1, 200), 100)
    assert autocorrelation(noise) < 3 * LAGS < autocorrelation(drifting)
    assert max(variance_ratios(drifting)) > 4.5
    assert len(list(variance_ratios(noise))) == len(SPANS)


def test_shares_move_with_the_market(held: Held) -> None:
    def returns(symbol: str) -> NDArray[np.float64]:
        return np.diff(np.log(held[symbol, "1d"].close))

    for symbol in ("NSE:BANKNIFTY", "NSE:RELIANCE", "NSE:INFY", "NSE:TCS", "NSE:HDFCBANK"):
        assert np.corrcoef(returns("NSE:NIFTY"), returns(symbol))[0, 1] > 0.4


def test_gaps_and_ends_of_a_session_move_more_than_its_middle(held: Held) -> None:
    minutes = held["NSE:RELIANCE", "1m"]
    size = np.abs(np.log(minutes.close / minutes.open)).reshape(-1, 375).mean(axis=0)
    volume = minutes.volume.reshape(-1, 375).mean(axis=0)
    assert size[:15].mean() > 1.5 * size[180:210].mean()
    assert min(volume[:15].mean(), volume[-15:].mean()) > 2 * volume[180:210].mean()
    days = held["NSE:RELIANCE", "1d"]
    gaps = np.log(days.open[1:] / days.close[:-1])
    assert 0.15 < gaps.var() / np.diff(np.log(days.close)).var() < 0.45
