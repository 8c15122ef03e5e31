"""The actions of operators: each asks for a reason, acts once, and is audited."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.backtests.models import Backtest, BacktestStatus
from apps.core.audit import Action
from apps.core.models import AuditRecord
from apps.symbols.models import Instrument
from tests.admin.conftest import act
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.market.bars import store_candles
from tests.symbols.instruments import equity


@pytest.fixture
def backtest(alice: User) -> Backtest:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    return submit(alice)


def only_record() -> AuditRecord:
    return AuditRecord.objects.filter(actor_kind="operator").get()


@pytest.mark.parametrize("reason", ["", " "])
def test_an_action_does_nothing_without_a_reason(
    operator: Client, backtest: Backtest, reason: str
) -> None:
    assert "Write the reason too" in act(operator, "cancel", backtest, reason)
    assert Backtest.objects.get().status == BacktestStatus.QUEUED


def test_a_backtest_is_cancelled_and_tried_again(
    operator: Client, olga: User, backtest: Backtest
) -> None:
    assert "Done. Cancel: " in act(operator, "cancel", backtest, "too large")
    assert Backtest.objects.get().status == BacktestStatus.CANCELLED
    record = only_record()
    assert (record.action, record.actor) == (Action.BACKTEST_CANCELLED, olga.pk)
    assert record.details == {"reason": "too large"}
    Backtest.objects.update(status=BacktestStatus.FAILED)
    act(operator, "retry", backtest, "mended")
    assert Backtest.objects.get().status == BacktestStatus.QUEUED


def test_a_refused_action_shows_its_error_and_is_not_on_record(
    operator: Client, backtest: Backtest
) -> None:
    assert "only a failed one can be tried again" in act(operator, "retry", backtest, "why not")
    assert not AuditRecord.objects.filter(actor_kind="operator").exists()


def test_a_user_cannot_use_the_operators_actions(alice: User, backtest: Backtest) -> None:
    client = Client()
    client.force_login(alice)
    assert "Log in" in act(client, "cancel", backtest, "mine")
    assert Backtest.objects.get().status == BacktestStatus.QUEUED


@pytest.mark.django_db
def test_an_instrument_is_switched_off_and_on(operator: Client) -> None:
    row = equity("NSE:TCS")
    act(operator, "disable", row, "corporate action")
    assert not Instrument.objects.get().enabled
    record = only_record()
    assert (record.action, record.object_id) == (Action.INSTRUMENT_DISABLED, str(row.pk))
    assert record.details == {"symbol": "NSE:TCS", "reason": "corporate action"}
    assert "NSE:TCS is switched off already" in act(operator, "disable", row, "again")
    act(operator, "enable", row, "over")
    assert Instrument.objects.get().enabled
