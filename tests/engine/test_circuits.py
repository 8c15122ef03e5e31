"""Locked bars by rule 22 of the engine's README."""

from pathlib import Path

import numpy as np
import pytest

from apps.engine.candles import DAY, IST, Candles
from apps.engine.kernel.codes import AFTER_SQUARE_OFF, LAST_OF_SESSION, LOCKED_DOWN, LOCKED_UP
from apps.engine.simulation.circuits import circuit_flags, with_circuits
from apps.engine.simulation.plan import Contract
from tests.engine.market_files import rows_of, sbin_daily

UP, DOWN = LOCKED_UP, LOCKED_DOWN
SHARE = Contract(has_bands=True)
Prices = tuple[float, ...]


def minutes(day: int, *bars: Prices | float) -> Candles:
    """Return minutes from 9:15 of a day; a single number is a bar with a single price."""
    table = [(bar,) * 4 if isinstance(bar, float | int) else bar for bar in bars]
    return candles([day * DAY - IST + 33_300 + 60 * i for i in range(len(table))], table)


def candles(times: list[int], table: list[Prices]) -> Candles:
    columns = np.array(table, float).T
    names = ("open", "high", "low", "close")
    return Candles.build(
        times, **dict(zip(names, columns, strict=True)), volume=np.ones(len(times))
    )


def days(**closes: float) -> Candles:
    times = [int(name[1:]) * DAY - IST for name in closes]
    return candles(times, [(close,) * 4 for close in closes.values()])


def flags_of(bars: Candles, official: Candles | None, timeframe: str = "1m") -> list[int]:
    flags: list[int] = circuit_flags(SHARE, timeframe, bars, first=0, days=official).tolist()
    return flags


@pytest.mark.parametrize("band", [2, 5, 10, 20])
@pytest.mark.parametrize("ticks", [-1, 0, 1])
def test_a_session_at_a_limit_is_locked_a_tick_either_way(band: int, ticks: int) -> None:
    for sign, flag in ((1, UP), (-1, DOWN)):
        price = 500 * (1 + sign * band / 100) + ticks * 0.05
        assert flags_of(minutes(11, price, price), days(d10=500)) == [flag, flag]
        off = 500 * (1 + sign * band / 100) + (2 * ticks or 2) * 0.05
        assert flags_of(minutes(11, off, off), days(d10=500)) == []


def test_within_a_session_the_bars_of_a_single_price_at_the_limit_are_locked() -> None:
    bars = minutes(11, (108, 110, 108, 110), 110, (110, 110, 109, 110), 110, 105)
    assert flags_of(bars, days(d10=100)) == [0, UP, 0, UP, 0]


def test_a_price_exceeded_in_its_session_is_not_a_limit() -> None:
    assert flags_of(minutes(11, 102, 105, 102), days(d10=100)) == [UP, UP, 0]
    assert flags_of(minutes(11, 98, (98, 98, 94, 94), 98), days(d10=100)) == [DOWN, 0, 0]


def test_an_unchanged_price_is_not_a_limit_however_low() -> None:
    """A tick of 0.05 is more than 2 % of 0.80."""
    assert flags_of(minutes(11, 0.80), days(d10=0.80)) == []
    assert flags_of(minutes(11, 0.85), days(d10=0.80)) == [UP]


def test_a_known_official_close_decides() -> None:
    bars = minutes(10, (99, 101, 99, 100))
    bars = Candles(
        *(
            np.concatenate(pair)
            for pair in zip(columns(bars), columns(minutes(11, 110)), strict=True)
        )
    )
    assert flags_of(bars, None) == [0, UP]
    assert flags_of(bars, days(d10=100.4)) == []
    assert flags_of(bars, days(d9=100, d11=90)) == [0, UP]
    assert flags_of(bars, days(d3=100)) == []  # too old
    assert flags_of(minutes(11, 110), None) == []


def columns(bars: Candles) -> list[np.ndarray]:
    return [getattr(bars, name) for name in ("time", "open", "high", "low", "close", "volume")]


def test_contracts_without_bands_have_no_limits() -> None:
    bars, official = minutes(11, 110, 110), days(d10=100)
    assert flags_of(bars, official) == [UP, UP]
    assert not len(circuit_flags(Contract(), "1m", bars, first=0, days=official))


def test_a_daily_candle_is_a_session_and_a_weekly_one_is_not() -> None:
    bars = days(d10=100, d11=110, d14=99)
    assert flags_of(bars, None, timeframe="1d") == [0, UP, DOWN]
    assert flags_of(bars, None, timeframe="1w") == []


def test_only_the_last_bars_are_asked_for_and_all_of_their_session_is_seen() -> None:
    bars, official = minutes(11, (100, 106, 100, 105), 105, 110), days(d10=100)
    last = circuit_flags(SHARE, "1m", bars, first=1, days=official)
    assert last.tolist() == [0, UP]


def test_flags_of_both_kinds_stand_together() -> None:
    none, late = np.empty(0, np.uint8), np.array([0, AFTER_SQUARE_OFF | LAST_OF_SESSION], np.uint8)
    locked = np.array([UP, UP], np.uint8)
    assert with_circuits(none, none).tolist() == []
    assert with_circuits(late, none).tolist() == late.tolist()
    assert with_circuits(none, locked).tolist() == [UP, UP]
    assert with_circuits(late, locked).tolist() == [UP, UP | late[1]]


def test_every_day_of_a_single_price_of_a_real_share_was_locked(market_data: Path) -> None:
    """The file has 56 such days from 2008 to 2026, each 5, 10 or 20 % from the close before."""
    rows = [row for row in rows_of(market_data / "nse_raw_SUZLON_2008-26.csv.gz") if row["open"]]
    table = [tuple(float(row[name]) for name in ("open", "high", "low", "close")) for row in rows]
    times = [int(np.datetime64(row["date"]).astype(int)) * DAY - IST for row in rows]
    share = candles(times, table)
    flags = np.array(flags_of(share, None, timeframe="1d"))
    assert np.array_equal(flags > 0, share.high == share.low)
    assert np.count_nonzero(flags) == 56
    assert flags_of(sbin_daily(market_data), None, timeframe="1d") == []


def test_minutes_of_a_thin_fund_do_not_count_as_locked(market_data: Path) -> None:
    """Seven of ten minutes have a single price.

    2,000 closes drawn within 25 % give the number near a limit by chance, and the number of these
    that no earlier bar exceeded.
    """
    rows = [
        row
        for row in rows_of(market_data / "lean_india_min_2019.csv.gz")
        if row["symbol"] == "juniorbees" and "trade" in row["entry"]
    ]
    day = rows[0]["entry"][:8]
    first = [row for row in rows if row["entry"].startswith(day)]
    table = [
        tuple(float(row[name]) / 10_000 for name in ("open", "high", "low", "close"))
        for row in first
    ]
    bars = minutes(11, *table)
    flat = bars.close[bars.high == bars.low]
    assert len(flat) > 0.5 * len(bars)
    drawn = np.round(flat[0] * (1 + np.random.default_rng(0).uniform(-0.25, 0.25, 2000)) / 0.05)
    near = locked = 0
    for close in (drawn * 0.05).tolist():
        limits = [close * (1 + share) for share in (-0.2, -0.1, -0.05, -0.02, 0.02, 0.05, 0.1, 0.2)]
        near += sum(int(np.count_nonzero(np.abs(flat - limit) <= 0.0501)) for limit in limits)
        locked += int(np.count_nonzero(flags_of(bars, days(d10=close))))
    assert near > 1_000
    assert locked < 0.001 * 2000 * len(flat)
    assert locked < near / 4
