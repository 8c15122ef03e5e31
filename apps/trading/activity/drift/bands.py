"""Comparison of a run's returns with its backtest: they should stay within the band of most paths
drawn from the backtest's daily returns.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from apps.algorithms.performance import BacktestedReturns, backtested_returns
from apps.engine.evidence import growth_band
from apps.engine.results import PairedReturns
from apps.trading.models import RunState, SessionStart

# The share of the paths that the band holds.
BAND_SHARE: Final = 0.9
# Fewer sessions say nothing.
LEAST_SESSIONS: Final = 5


class BandStatus(StrEnum):
    """The position of a run's growth relative to its band; `unknown` without enough data."""

    WITHIN = "within"
    BELOW = "below"
    ABOVE = "above"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ReturnBand:
    """The growth of a run's equity after some sessions, and the band of its backtest; fractions of
    the equity at the start, None if unknown.
    """

    status: BandStatus
    sentence: str
    sessions: int = 0
    growth: float | None = None
    lower: float | None = None
    upper: float | None = None
    backtest_id: str | None = None


def band_of(session: SessionStart | None) -> ReturnBand:
    """Return the band at the end of a run's session, or at the present point of a session under
    way.
    """
    if session is None:
        return ReturnBand(BandStatus.UNKNOWN, "No session traded yet.")
    run = session.run
    starts = list(SessionStart.objects.filter(run=run, day__lte=session.day).order_by("day"))
    sessions, growth = len(starts), _equity_after(session) / starts[0].equity - 1
    backtested = backtested_returns(run.algorithm_id, run.configuration)
    if sessions < LEAST_SESSIONS:
        reason = f"{sessions} sessions traded; a comparison needs {LEAST_SESSIONS}."
    elif backtested is None:
        reason = "No backtest of these exact steps to compare with. Run one."
    elif (days := len(backtested.returns)) < PairedReturns.LEAST_DAYS:
        reason = f"The backtest covers {days} days; a comparison needs {PairedReturns.LEAST_DAYS}."
    else:
        return _band(backtested, sessions, growth)
    return ReturnBand(BandStatus.UNKNOWN, reason, sessions, growth)


def _band(backtested: BacktestedReturns, sessions: int, growth: float) -> ReturnBand:
    lowers, uppers = growth_band(backtested.returns, sessions, BAND_SHARE, seed=backtested.seed)
    lower, upper = float(lowers[-1]), float(uppers[-1])
    status = BandStatus.WITHIN
    if growth < lower:
        status = BandStatus.BELOW
    elif growth > upper:
        status = BandStatus.ABOVE
    sentence = _sentence(status, sessions, growth, lower, upper)
    return ReturnBand(status, sentence, sessions, growth, lower, upper, backtested.backtest_id)


def _equity_after(session: SessionStart) -> float:
    """Return the equity at the start of the next session, or the present equity."""
    later = SessionStart.objects.filter(run=session.run, day__gt=session.day).order_by("day")
    equity = later.values_list("equity", flat=True).first()
    if equity is None:
        states = RunState.objects.filter(run=session.run)
        equity = states.values_list("equity", flat=True).first()
    return float(session.run.capital) if equity is None else equity


def _sentence(status: BandStatus, sessions: int, growth: float, lower: float, upper: float) -> str:
    statement = (
        f"{growth:+.2%} after {sessions} sessions. {BAND_SHARE:.0%} of paths drawn from the"
        f" backtest lie between {lower:+.2%} and {upper:+.2%}:"
    )
    match status:
        case BandStatus.WITHIN:
            return f"{statement} as expected."
        case BandStatus.BELOW:
            return f"{statement} worse than expected."
    return f"{statement} better than expected."
