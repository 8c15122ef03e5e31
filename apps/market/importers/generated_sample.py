"""Generated bars in the shape of a market, for trying things out. They are not a market's history.

Prices are a fair game: no known information tells at any moment whether they will rise or fall, and
on average they do neither. So a strategy earns on them before costs only by luck.

A symbol moves with the market and by itself. Volatility differs between days, drifts within a day
and is higher at both of its ends, and any bar may draw a wild one. Given its volatility, a bar is a
continuous path from its open to its close, and its high and low are drawn from that path: a stop
within the bar fills at its price. Between sessions, prices jump.

There are five years of days, for some symbols the last ones of them also as minutes; those days are
the sum of their minutes. A symbol always has the same bars, independent of other symbols.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.core.times import day_number
from apps.engine.candles import Candles, Sessions, day_start, resample
from apps.market.candles.chunks import concat
from apps.market.rulebook.sessions import sessions_of

Floats = NDArray[np.float64]

FIRST_DAY: Final = date(2021, 7, 1)
FIRST_DAY_OF_MINUTES: Final = date(2026, 4, 8)
_LAST_DAY: Final = date(2026, 6, 30)
# The first day as a number: chosen before any result on these bars was seen, and never for one.
SEED: Final = 20210701

_GAP: Final = 0.3 / 0.7  # variance of the jump before a session, relative to the session's
_STEP: Final = 0.01  # variance of the move between two bars of a session, relative to a bar's
_DEGREES_OF_FREEDOM: Final = 7.0
_VOLUME_DEVIATION: Final = 0.5


@dataclass(frozen=True, slots=True)
class Sample:
    """Bars of one symbol and timeframe."""

    symbol: str
    timeframe: str
    candles: Candles


@dataclass(frozen=True, slots=True)
class _Recipe:
    """The parameters of a symbol: `beta` times the market's moves, and its own with `deviation` a
    session.
    """

    symbol: str
    price: float
    tick: float
    beta: float
    deviation: float
    volume: float  # of an average day; 0 for an index
    first_day: date = FIRST_DAY
    has_minutes: bool = True


_MARKET: Final = _Recipe("NSE:NIFTY", 15700.0, 0.05, 0.0, 0.008, 0)
_RECIPES: Final = (
    _Recipe("NSE:NIFTY", 15700.0, 0.05, 1.0, 0.0, 0),
    _Recipe("NSE:BANKNIFTY", 34800.0, 0.05, 1.1, 0.005, 0),
    _Recipe("NSE:RELIANCE", 1050.0, 0.1, 1.0, 0.01, 9_000_000),
    _Recipe("NSE:INFY", 1550.0, 0.1, 0.8, 0.011, 6_000_000),
    _Recipe("NSE:TCS", 3340.0, 0.1, 0.7, 0.01, 2_000_000),
    _Recipe("NSE:HDFCBANK", 745.0, 0.05, 1.0, 0.009, 20_000_000),
    # A contract that is listed for some months only, the last after the sample.
    _Recipe("MCX:SILVERMIC26AUGFUT", 240_000.0, 1.0, 0.0, 0.014, 60_000, date(2025, 12, 1)),
    # Read beside the traded symbol, and ranked with the shares above.
    _Recipe("NSE:INDIAVIX", 14.0, 0.01, -1.0, 0.01, 0, has_minutes=False),
    *(
        _Recipe(f"NSE:{name}", price, tick, beta, 0.011, volume, has_minutes=False)
        for name, price, tick, beta, volume in (
            ("ICICIBANK", 635.0, 0.1, 1.1, 15_000_000),
            ("BHARTIARTL", 525.0, 0.1, 0.8, 8_000_000),
            ("SBIN", 420.0, 0.1, 1.2, 20_000_000),
            ("ITC", 203.0, 0.05, 0.7, 18_000_000),
            ("LT", 1500.0, 0.1, 1.0, 2_500_000),
            ("AXISBANK", 750.0, 0.1, 1.2, 10_000_000),
            ("KOTAKBANK", 1720.0, 0.1, 0.9, 3_500_000),
            ("HINDUNILVR", 2470.0, 0.1, 0.6, 1_500_000),
            ("MARUTI", 7500.0, 1.0, 0.9, 600_000),
            ("SUNPHARMA", 675.0, 0.1, 0.6, 4_000_000),
            ("TITAN", 1730.0, 0.1, 0.9, 1_800_000),
            ("ASIANPAINT", 2990.0, 0.1, 0.7, 1_300_000),
            ("NTPC", 117.0, 0.05, 0.8, 15_000_000),
            ("POWERGRID", 175.0, 0.05, 0.7, 12_000_000),
            ("TATASTEEL", 117.0, 0.01, 1.3, 60_000_000),
            ("WIPRO", 270.0, 0.01, 0.8, 9_000_000),
        )
    ),
)


def samples(seed: int = SEED) -> Iterator[Sample]:
    """Return the days of each symbol of the sample, and the minutes of those that have them."""
    rng = _rng(seed, "market")
    market = [_moves(rng, _MARKET, grid) for grid in _grids(_MARKET)]
    for recipe in _RECIPES:
        rng, sessions = _rng(seed, recipe.symbol), sessions_of(recipe.symbol)
        price, bars = recipe.price, []
        for grid, shared in zip(_grids(recipe), market, strict=True):
            moves = _moves(rng, recipe, grid)
            if recipe.beta:
                moves = moves.plus(shared, recipe.beta)
            bars.append(_bars(rng, recipe, grid, moves, price=price))
            price = float(bars[-1].close[-1])
        days, minutes = bars
        summed = resample(minutes, "1m", "1d", sessions)
        yield Sample(recipe.symbol, "1d", concat([days, summed]))
        if recipe.has_minutes:
            yield Sample(recipe.symbol, "1m", minutes)


def _rng(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


@dataclass(frozen=True, slots=True)
class _Grid:
    """Bars without prices: their times, their sessions, counted from 0, and the position of their
    middle in the session, from 0 to 1.
    """

    time: NDArray[np.int64]
    session: NDArray[np.int64]
    position: Floats

    @property
    def opens(self) -> NDArray[np.bool_]:
        """Return whether a bar is the first of its session."""
        return np.diff(self.session, prepend=-1) > 0

    @property
    def share(self) -> Floats:
        """The length of a bar as a share of a session."""
        return 1.0 / np.bincount(self.session)[self.session]


def _grids(recipe: _Recipe) -> tuple[_Grid, _Grid]:
    """Return the early sessions of a symbol, and the minutes of the others."""
    sessions = sessions_of(recipe.symbol)
    span = np.arange(day_number(recipe.first_day), day_number(_LAST_DAY) + 1, dtype=np.int32)
    days = span[sessions.is_session(span)]
    split = np.searchsorted(days, day_number(FIRST_DAY_OF_MINUTES))
    early, late = days[:split], days[split:]
    whole = _Grid(day_start(early), np.arange(len(early)), np.full(len(early), 0.5))
    return whole, _minutes(sessions, late)


def _minutes(sessions: Sessions, days: NDArray[np.int32]) -> _Grid:
    opens, closes = sessions.hours(days)
    count = (closes - opens) // 60
    session = np.repeat(np.arange(len(days)), count)
    number = np.arange(len(session)) - np.repeat(np.cumsum(count) - count, count)
    return _Grid(opens[session] + 60 * number, session, (number + 0.5) / count[session])


@dataclass(frozen=True, slots=True)
class _Moves:
    """Moves of a price, f8[bars, 2]: from the last close to the open, from there to the close.

    A move is drawn from the normal distribution of its variance. `liveliness` is the bar's
    volatility relative to an average bar at its time of day.
    """

    moves: Floats
    variance: Floats
    liveliness: Floats

    def plus(self, other: "_Moves", beta: float) -> "_Moves":
        variance = self.variance + beta**2 * other.variance
        liveliness = np.sqrt(self.liveliness * other.liveliness)
        return _Moves(self.moves + beta * other.moves, variance, liveliness)


def _moves(rng: np.random.Generator, recipe: _Recipe, grid: _Grid) -> _Moves:
    count, opens = len(grid.time), grid.opens
    liveliness = _clusters(rng, opens.sum(), memory=20, deviation=0.35)[grid.session]
    if not opens.all():
        liveliness = liveliness * _clusters(rng, count, memory=240, deviation=0.45)
    usual = recipe.deviation**2 * grid.share * _ends(grid.position, 1.8, 0.3, power=2) ** 2
    between = np.where(opens, recipe.deviation**2 * _GAP, usual * _STEP)
    # A normal distribution with a variance that is drawn so is Student's.
    wild = (_DEGREES_OF_FREEDOM - 2) / rng.chisquare(_DEGREES_OF_FREEDOM, (count, 2))
    variance = np.column_stack([between, usual]) * liveliness[:, None] ** 2 * wild
    return _Moves(rng.normal(0.0, 1.0, (count, 2)) * np.sqrt(variance), variance, liveliness)


def _clusters(rng: np.random.Generator, count: int, *, memory: int, deviation: float) -> Floats:
    """Return volatilities with a mean square of 1.

    Neighbours are similar; their correlation falls to a third after `memory` of them.
    """
    weights = np.exp(-np.arange(8 * memory) / memory)
    noise = rng.normal(0.0, 1.0, count + len(weights) - 1)
    level = np.convolve(noise, weights / np.linalg.norm(weights), "valid") * deviation
    return np.asarray(np.exp(level - deviation**2))


def _ends(position: Floats, opening: float, closing: float, *, power: int) -> Floats:
    """Return weights by position in a session, higher at its ends; their `power`s have mean 1."""
    near_opening, near_closing = np.exp(-position / 0.05), np.exp((position - 1) / 0.05)
    weights = 1 + opening * near_opening + closing * near_closing
    return np.asarray(weights / (weights**power).mean() ** (1 / power))


def _bars(
    rng: np.random.Generator, recipe: _Recipe, grid: _Grid, moves: _Moves, *, price: float
) -> Candles:
    # Half the variance is taken off a logarithm so that the price itself is a fair game.
    path = np.log(price) + np.cumsum(moves.moves - moves.variance / 2).reshape(-1, 2)
    opened, closed = path.T
    middle, move, variance = (opened + closed) / 2, closed - opened, moves.variance[:, 1]
    # The extremes of a Brownian path between two points.
    luck = -2 * variance * np.log(rng.random((2, len(path))))
    up, down = np.sqrt(move**2 + luck) / 2
    open_, close = _ticks(np.rint, opened, recipe), _ticks(np.rint, closed, recipe)
    # Only ticks that the path has reached.
    top, bottom = _ticks(np.floor, middle + up, recipe), _ticks(np.ceil, middle - down, recipe)
    noise = rng.lognormal(0.0, _VOLUME_DEVIATION, len(path))
    usual = recipe.volume * grid.share * _ends(grid.position, 2.5, 4.0, power=1)
    return Candles.build(
        grid.time,
        open=open_,
        high=np.maximum.reduce([top, open_, close]),
        low=np.minimum.reduce([bottom, open_, close]),
        close=close,
        volume=np.rint(usual * moves.liveliness * noise),
    )


def _ticks(rounded: np.ufunc, logarithm: Floats, recipe: _Recipe) -> Floats:
    return np.asarray(np.round(rounded(np.exp(logarithm) / recipe.tick) * recipe.tick, 2))
