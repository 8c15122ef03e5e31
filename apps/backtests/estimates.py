"""How long a backtest takes, from what those of its kind have taken here, and how many seconds of
the workers one user's may take together.
"""

from math import prod
from typing import Final

from django.conf import settings
from django.db import connection
from django.db.models import F, Sum

from apps.accounts.models import User
from apps.backtests.histories import MAX_BARS_IN_MEMORY
from apps.backtests.models import Backtest, BacktestKind, BacktestStatus, WorkSpeed
from apps.backtests.submissions import STUDY_FIELDS
from apps.core.errors import Code, ServiceError
from apps.core.machine import memory_limit
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

# What a worker holds for each bar, measured with two averages; sets of a search share columns.
BYTES_OF_A_BAR, BYTES_OF_A_SEARCHED_BAR = 120, 220
# The scores of a set of a search, twice while they are joined; those of a path are fewer.
BYTES_OF_AN_ITEM: Final = 400
OWN_MEGABYTES: Final = 180
# How often bars are read that memory should not hold.
READINGS_IN_PARTS: Final = 4


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
    units = _units(backtest, stored_bars_of(backtest))
    return max(round(speed.seconds / speed.units * units, 1), 0.1)


def stored_bars_of(backtest: Backtest) -> int:
    """Return the bars of all symbols in the range, or somewhat fewer."""
    bounds = lower_bounds(
        backtest.symbols, backtest.timeframe, start=backtest.start, end=backtest.end
    )
    return sum(bound.within for bound in bounds.values())


def describe_memory(backtest: Backtest, *, was_too_much: bool) -> str:
    """Say what memory a worker takes for the backtest, and where it `was_too_much`, what fits into
    that of this machine.
    """
    kind, bars, items = BacktestKind(backtest.kind), stored_bars_of(backtest), count_items(backtest)
    searches = kind in (BacktestKind.WALK_FORWARD, BacktestKind.OPTIMIZATION)
    of_a_bar = BYTES_OF_A_SEARCHED_BAR if searches else BYTES_OF_A_BAR
    of_items = BYTES_OF_AN_ITEM * items
    held = f"{bars:,} bars over all symbols"
    if items > 1:
        held += f", and {items:,} sets or paths,"
    bars_held = MAX_BARS_IN_MEMORY if is_in_parts(backtest, bars) else bars
    megabytes = (bars_held * of_a_bar + of_items) / 2**20
    text = f"Its {held} take a worker about {megabytes:,.0f} MB beside its own {OWN_MEGABYTES} MB."
    if not was_too_much:
        return text
    limit = memory_limit()
    left = limit / settings.BACKTEST_WORKERS - OWN_MEGABYTES * 2**20 - of_items
    # What was estimated has proved too little.
    fitting = min(int(max(left, 0.0) / of_a_bar), bars // 2)
    return (
        f"{text} The machine has {limit / 2**20:,.0f} MB for all its processes, of which"
        f" {settings.BACKTEST_WORKERS} may run backtests: about {fitting:,} bars would fit. Shorten"
        " the range, or name fewer symbols or a longer timeframe."
    )


def _units(backtest: Backtest, bars: int) -> float:
    """Return the work as a number that its time grows with: bars that are simulated, or paths."""
    items = count_items(backtest)
    if backtest.kind == BacktestKind.MONTE_CARLO:
        return float(items)
    readings = READINGS_IN_PARTS if is_in_parts(backtest, bars) else 1
    return float(items * readings * max(bars, 1))


def is_in_parts(backtest: Backtest, bars: int) -> bool:
    """Return whether a worker goes through so many bars in parts."""
    return backtest.kind == BacktestKind.BACKTEST and bars > MAX_BARS_IN_MEMORY


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
