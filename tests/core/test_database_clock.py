"""A machine with a wrong clock uses the database's and reports it; with a far wrong clock it takes
no work.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from rest_framework_simplejwt.tokens import AccessToken

from apps.accounts.login import tokens
from apps.accounts.models import User
from apps.backtests.models import Backtest, BacktestStatus
from apps.backtests.running import queue
from apps.core.database import server_clock
from apps.ops.processes import presence
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.market.bars import store_candles

pytestmark = pytest.mark.django_db

Shift = Callable[[float], None]


@pytest.fixture
def shift(monkeypatch: pytest.MonkeyPatch) -> Shift:
    """Move this machine's clock by some seconds, and compare it with the database's."""
    true_time, true_now = time.time, timezone.now
    monkeypatch.setattr(server_clock, "machine_clock", server_clock.MachineClock())

    def move(seconds: float) -> None:
        monkeypatch.setattr(time, "time", lambda: true_time() + seconds)
        monkeypatch.setattr(timezone, "now", lambda: true_now() + timedelta(seconds=seconds))
        server_clock.compare_clocks()

    return move


def seconds_off() -> float:
    return abs(
        (server_clock.now() - datetime.now(tz=timezone.get_default_timezone())).total_seconds()
    )


@pytest.mark.parametrize("seconds", [-600, -25, 25, 3600])
def test_the_time_comes_from_the_database_on_a_machine_with_a_wrong_clock(
    shift: Shift, seconds: float, caplog: pytest.LogCaptureFixture
) -> None:
    shift(seconds)
    assert seconds_off() < 1
    direction = "ahead of" if seconds > 0 else "behind"
    assert [record.getMessage() for record in caplog.records] == [
        f"the clock of this machine is {abs(seconds):.1f} s {direction} the database's"
    ]
    shift(seconds)
    assert len(caplog.records) == 1  # not at each comparison
    assert server_clock.is_far_off() == (abs(seconds) > 30)
    assert presence.idle_reason() == ("clock" if abs(seconds) > 30 else "")
    shift(0)
    assert presence.idle_reason() == ""
    assert "agrees" in caplog.records[-1].getMessage()


def test_a_small_difference_is_left_alone(shift: Shift, caplog: pytest.LogCaptureFixture) -> None:
    shift(1.5)
    assert not caplog.records
    assert server_clock.machine_clock.seconds_ahead == 0


def test_a_fast_clock_requeues_no_live_backtest(shift: Shift, alice: User) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    backtest = submit(alice)
    Backtest.objects.update(status=BacktestStatus.RUNNING, heartbeat_at=timezone.now())
    shift(40)
    assert queue.requeue_stalled(now=server_clock.now()) == 0
    assert queue.requeue_stalled(now=timezone.now()) == 1  # as it would have been
    assert Backtest.objects.get(pk=backtest.pk).status == BacktestStatus.QUEUED


@pytest.mark.parametrize("seconds", [-25, 25])
def test_tokens_of_a_machine_with_a_wrong_clock_are_valid_everywhere(
    shift: Shift, alice: User, seconds: float
) -> None:
    shift(seconds)
    issued = tokens.issue(user=alice, now=server_clock.now(), address=None, user_agent="")
    assert tokens.read(issued.access, AccessToken).user_id == alice.pk
    late = server_clock.now() - tokens.ACCESS_LIFETIME - timedelta(seconds=1)
    with pytest.raises(tokens.TokenExpired):
        tokens.read(tokens.access_token(issued.session, now=late), AccessToken)
