"""How long a backtest takes, from what those of its kind have taken here, and how many seconds of
the workers one user's may take together.
"""

from math import prod
from typing import Final

from django.conf import settings
from django.db import connection
from django.db.models import F, Sum

from apps.accounts.models import User
from apps.backtests.models import Backtest, BacktestKind, BacktestStatus, WorkSpeed
from apps.backtests.submissions import STUDY_FIELDS
from apps.core.errors import Code, ServiceError
from apps.core.times import duration_text
from apps.engine.studies import configs as studies
from apps.engine.studies.configs import MonteCarloConfig, WalkForwardConfig
from apps.market.bar_counts import lower_bounds

# Of what was measured before, so much is kept: some twenty measurements count.
RECORD_SPEED: Final = """
    INSERT INTO backtests_workspeed AS measured (kind, seconds, units) VALUES (%s, %s, %s)
    ON CONFLICT (kind) DO UPDATE SET
        seconds = 0.95 * measured.seconds + excluded.seconds,
        units = 0.95 * measured.units + excluded.units
"""


class TooManySeconds(ServiceError):
    """The user's backtests would take more of the workers' time than a user's may."""

    code = Code.UNPROCESSABLE_ENTITY
    message = (
        "It would take about {estimated} (h:mm:ss) of one worker. Your queued and running backtests"
        " may take {limit} together, and take {used}; about {fitting} {unit} would fit."
    )


def count_items(backtest: Backtest) -> int:
    """Return the simulations of a search, the paths of a Monte Carlo; 1 of a plain backtest."""
    kind = BacktestKind(backtest.kind)
    if kind is BacktestKind.BACKTEST:
        return 1
    config = studies.parse_config(STUDY_FIELDS[kind].model, backtest.study or {})
    if isinstance(config, MonteCarloConfig):
        return config.runs
    sets = prod(parameter.count for parameter in config.parameters)
    if isinstance(config, WalkForwardConfig):
        return sets * config.windows
    return min(sets, config.maxRuns)


def record_speed(backtest: Backtest, *, seconds: float, bars: int) -> None:
    """Record how long one worker takes for a backtest of so many bars over all symbols."""
    with connection.cursor() as cursor:
        cursor.execute(RECORD_SPEED, [backtest.kind, seconds, _units(backtest, bars)])


def estimate_seconds(backtest: Backtest) -> float | None:
    """Return how long one worker would take; None before one of its kind was measured."""
    speed = WorkSpeed.objects.filter(kind=backtest.kind).first()
    if speed is None:
        return None
    bounds = lower_bounds(
        backtest.symbols, backtest.timeframe, start=backtest.start, end=backtest.end
    )
    bars = sum(bound.within for bound in bounds.values())
    return max(round(speed.seconds / speed.units * _units(backtest, bars), 1), 0.1)


def _units(backtest: Backtest, bars: int) -> float:
    """Return the work as a number that its time grows with: bars that are simulated, or paths."""
    items = count_items(backtest)
    return float(items if backtest.kind == BacktestKind.MONTE_CARLO else items * max(bars, 1))


def require_seconds(backtest: Backtest, *, owner: User) -> None:
    """Require that a new backtest fits into what the user's may take; the caller has locked the
    user's row. Raises TooManySeconds.
    """
    seconds, limit = backtest.estimated_seconds, settings.QUOTA_BACKTEST_SECONDS
    unfinished = Backtest.objects.owned_by(owner).filter(
        status__in=(BacktestStatus.QUEUED, BacktestStatus.RUNNING)
    )
    left = F("estimated_seconds") * (100 - F("progress")) / 100.0
    used = unfinished.aggregate(seconds=Sum(left))["seconds"] or 0.0
    if seconds is None or used + seconds <= limit:
        return
    share = max(limit - used, 0.0) / seconds
    is_plain = backtest.kind == BacktestKind.BACKTEST
    raise TooManySeconds(
        estimated=duration_text(seconds),
        limit=duration_text(limit),
        used=duration_text(used),
        fitting=int(100 * share) if is_plain else f"{int(count_items(backtest) * share):,}",
        unit="% of its bars" if is_plain else "simulations or paths",
        estimatedSeconds=seconds,
        limitSeconds=limit,
        usedSeconds=round(used, 1),
    )
