"""Old signals are deleted, and old rows of candles that no run needs; others stay."""

from datetime import datetime, timedelta

import pytest

from apps.accounts.models import User
from apps.trading.activity import retention
from apps.trading.models import BarRow, BarStream, Run, RunState, Signal
from apps.trading.runs import bar_streams
from tests import make
from tests.trading.algorithm_states import start, stopped_algorithm

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
OLD, NEW = make.NOW - 91 * DAY, make.NOW - 89 * DAY


def signal(run: Run, at: datetime) -> None:
    run.signals.create(
        algorithm=run.algorithm,
        symbol="NSE:SBIN",
        bar_time=at,
        side="long",
        action="entry",
        followed=True,
    )


def row(stream: BarStream, time: int, used_at: datetime) -> None:
    stream.rows.create(time=time, bars=b"", used_at=used_at)


def test_an_old_signal_is_purged_unless_a_recent_run_replayed_it(alice: User, bob: User) -> None:
    old, young = start(stopped_algorithm(alice)), start(stopped_algorithm(bob))
    Run.objects.filter(pk=old.pk).update(started_at=OLD - DAY)
    signal(old, OLD)
    signal(old, NEW)
    signal(young, OLD)
    assert retention.purge(now=make.NOW) == 1
    assert set(Signal.objects.values_list("run", "bar_time")) == {(old.pk, NEW), (young.pk, OLD)}


def test_an_old_row_is_purged_unless_a_run_is_in_its_segment(alice: User) -> None:
    start(stopped_algorithm(alice))
    bar_streams.assign_runs(now=make.NOW)
    held, free = RunState.objects.get().stream, bar_streams.get_bar_stream(["NSE:TCS"], "1m")
    assert held is not None
    BarStream.objects.update(segment_start=1_000)
    for stream in (held, free):
        row(stream, 999, OLD)
        row(stream, 1_000, OLD)
        row(stream, 1_001, NEW)
    assert retention.purge(now=make.NOW) == 3
    left = BarRow.objects.order_by("stream", "time").values_list("stream", "time")
    assert set(left) == {(held.pk, 1_000), (held.pk, 1_001), (free.pk, 1_001)}
