"""Old signals go, and old rows of candles that no run needs; the rest stays."""

from datetime import datetime, timedelta

import pytest

from apps.accounts.models import User
from apps.trading import bar_streams, retention
from apps.trading.models import Lane, LaneRow, Run, RunState, Signal
from tests import make
from tests.trading.standing import ready, start

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
OLD, NEW = make.NOW - 91 * DAY, make.NOW - 89 * DAY


def signal(run: Run, at: datetime) -> None:
    run.signals.create(
        algorithm=run.algorithm, symbol="NSE:SBIN", bar_time=at, side="long", action="entry",
        followed=True,
    )  # fmt: skip


def row(lane: Lane, time: int, used_at: datetime) -> None:
    lane.rows.create(time=time, bars=b"", used_at=used_at)


def test_an_old_signal_goes_unless_it_is_of_a_replay_by_a_young_run(alice: User, bob: User) -> None:
    old, young = start(ready(alice)), start(ready(bob))
    Run.objects.filter(pk=old.pk).update(started_at=OLD - DAY)
    signal(old, OLD)
    signal(old, NEW)
    signal(young, OLD)
    assert retention.purge(now=make.NOW) == 1
    assert set(Signal.objects.values_list("run", "bar_time")) == {(old.pk, NEW), (young.pk, OLD)}


def test_an_old_row_goes_unless_a_run_is_in_its_stretch(alice: User) -> None:
    start(ready(alice))
    bar_streams.adopt(now=make.NOW)
    held, free = RunState.objects.get().lane, bar_streams.lane_of(["NSE:TCS"], "1m")
    assert held is not None
    Lane.objects.update(began=1_000)
    for lane in (held, free):
        row(lane, 999, OLD)
        row(lane, 1_000, OLD)
        row(lane, 1_001, NEW)
    assert retention.purge(now=make.NOW) == 3
    left = LaneRow.objects.order_by("lane", "time").values_list("lane", "time")
    assert set(left) == {(held.pk, 1_000), (held.pk, 1_001), (free.pk, 1_001)}
