"""Symbols of different times, joined as one market."""

import numpy as np

from apps.engine.candles import Candles, frozen, ist_day
from apps.engine.kernel.records import Bars
from apps.engine.simulation.market import cue, join
from apps.engine.simulation.timeline import Cues, Track

NO_FLAGS = np.empty(0, np.uint8)


def track(times: list[int], rng: np.random.Generator) -> Track:
    price = rng.random(len(times)) + 1
    columns = dict.fromkeys(("open", "high", "low", "close", "volume"), price)
    candles = Candles.build(60 * np.array(times), **columns)
    return Track("", candles, candles, NO_FLAGS, {})


def drawn(rng: np.random.Generator) -> list[Track]:
    """Mostly alike, some with gaps, some a minute later."""
    minutes = np.cumsum(rng.integers(1, 900, int(rng.integers(2, 60))))
    tracks = []
    for share in rng.choice([1.0, 1.0, 0.9, 0.1], int(rng.integers(1, 8))):
        own = minutes[rng.random(len(minutes)) < share] + rng.choice([0, 0, 1])
        tracks.append(track(own.tolist() or [1], rng))
    return tracks


def test_each_row_is_a_time_and_finds_the_bars_and_signals_of_that_time() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        tracks = drawn(rng)
        heard = [rng.integers(1, 9, len(one.candles)).astype(np.uint8) for one in tracks]
        market, signals = cue(join(tracks), [Cues(bits, np.empty((0, 4))) for bits in heard])
        times = [one.candles.time.tolist() for one in tracks]
        assert market.time.tolist() == sorted(set().union(*times))
        assert market.day.tolist() == ist_day(market.time).tolist()
        assert not market.time.flags.writeable
        for s, own in enumerate(times):
            there = market.cell[:, s] >= 0
            assert market.time[there].tolist() == own
            assert signals[there, s].tolist() == heard[s].tolist()
            assert not signals[~there, s].any()
            for name in Bars._fields:
                read = getattr(market.bars, name)[market.cell[there, s]]
                assert read.tolist() == getattr(tracks[s].candles, name).tolist()


def test_one_symbol_is_not_copied() -> None:
    one = track([1, 2, 3], np.random.default_rng(1))
    market = join([one])
    assert market.time is one.candles.time
    assert np.shares_memory(market.bars.close, one.candles.close)


def test_ranges_and_flags_lie_as_the_bars_do() -> None:
    rng = np.random.default_rng(1)
    tracks = [
        track(times, rng)._replace(flags=frozen(np.full(len(times), flag, np.uint8)))
        for flag, times in ((1, [1, 2]), (2, [2]))
    ]
    cues = [Cues(np.zeros(n, np.uint8), np.full((n, 4), float(n))) for n in (2, 1)]
    market, _ = cue(join(tracks), cues)
    assert market.flags.tolist() == [1, 1, 2]
    assert market.atr[:, 0].tolist() == [2, 2, 1]
