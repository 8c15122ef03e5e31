"""The generated sample has the shape of a market."""

import numpy as np

from apps.engine.candles import ist_day
from apps.engine.resampling import resample
from apps.market.rulebook.sessions import sessions_of
from apps.market.sample import SESSIONS, samples
from tests.market.bars import same


def test_the_sample_is_the_same_every_time() -> None:
    assert all(
        same(first.candles, second.candles)
        for first, second in zip(samples(), samples(), strict=True)
    )


def test_minutes_fill_sessions_and_sum_to_the_last_days() -> None:
    held = {(sample.symbol, sample.timeframe): sample.candles for sample in samples()}
    for symbol in {symbol for symbol, _ in held}:
        minutes, days = held[symbol, "1m"], held[symbol, "1d"]
        sessions = sessions_of(symbol)
        opens, closes = sessions.hours(ist_day(minutes.time))
        assert ((minutes.time >= opens) & (minutes.time < closes)).all()
        assert len(minutes) == SESSIONS * 375
        summed = resample(minutes, "1m", "1d", sessions)
        assert same(days.slice(len(days) - SESSIONS, len(days)), summed)


def test_prices_stand_on_ticks_and_stay_plausible() -> None:
    for sample in samples():
        close = sample.candles.close
        assert np.allclose(close * 20, np.rint(close * 20), atol=1e-6)
        assert close.max() < 4 * close.min()
