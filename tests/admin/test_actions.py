"""The actions of operators: each asks for a reason, acts once, and is audited."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.backtests.models import Backtest, BacktestStatus
from apps.core.audit import Action
from apps.core.models import AuditRecord
from apps.symbols.models import Instrument
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.market.bars import store_candles
from tests.symbols.instruments import equity


@pytest.fixture
def backtest(alice: User) -> Backtest:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    return submit(alice)


def address(backtest: Backtest, action: str) -> str:
    return f"/admin/backtests/backtest/{backtest.pk}/do/{action}/"


def only_record() -> AuditRecord:
    return AuditRecord.objects.filter(actor_kind="operator").get()


def test_an_action_is_offered_only_where_it_can_be_done(
    operator: Client, backtest: Backtest
) -> None:
    shown = operator.get(f"/admin/backtests/backtest/{backtest.pk}/change/").text
    assert "../do/cancel/" in shown
    assert "../do/retry/" not in shown


def test_an_action_asks_for_the_reason_and_does_nothing_without(
    operator: Client, backtest: Backtest
) -> None:
    assert "reason" in operator.get(address(backtest, "cancel")).text
    assert "This field is required" in operator.post(address(backtest, "cancel")).text
    assert Backtest.objects.get().status == BacktestStatus.QUEUED


def test_a_backtest_is_cancelled_and_tried_again(
    operator: Client, olga: User, backtest: Backtest
) -> None:
    answer = operator.post(address(backtest, "cancel"), {"reason": "too large"}, follow=True)
    assert "Done. Cancel: " in answer.text
    assert Backtest.objects.get().status == BacktestStatus.CANCELLED
    record = only_record()
    assert (record.action, record.actor) == (Action.BACKTEST_CANCELLED, olga.pk)
    assert record.details == {"reason": "too large"}
    Backtest.objects.update(status=BacktestStatus.FAILED)
    operator.post(address(backtest, "retry"), {"reason": "mended"})
    assert Backtest.objects.get().status == BacktestStatus.QUEUED


def test_what_a_service_refuses_is_told_and_not_on_record(
    operator: Client, backtest: Backtest
) -> None:
    answer = operator.post(address(backtest, "retry"), {"reason": "why not"}, follow=True)
    assert "only one that failed can be tried again" in answer.text
    assert not AuditRecord.objects.filter(actor_kind="operator").exists()


@pytest.mark.parametrize("path", ["{}/do/explode", "000000000000000000000000/do/cancel", "x/do/x"])
def test_unknown_actions_and_objects_are_not_there(
    operator: Client, backtest: Backtest, path: str
) -> None:
    path_of_object = f"/admin/backtests/backtest/{path.format(backtest.pk)}/"
    assert operator.post(path_of_object, {"reason": "none"}).status_code == 404


def test_a_user_cannot_do_what_operators_do(alice: User, backtest: Backtest) -> None:
    client = Client()
    client.force_login(alice)
    answer = client.post(address(backtest, "cancel"), {"reason": "mine"})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/admin/login/")
    assert Backtest.objects.get().status == BacktestStatus.QUEUED


@pytest.mark.django_db
def test_an_instrument_is_switched_off_and_on(operator: Client) -> None:
    row = equity("NSE:TCS")
    path_of_object = f"/admin/symbols/instrument/{row.pk}/do"
    operator.post(f"{path_of_object}/disable/", {"reason": "corporate action"})
    assert not Instrument.objects.get().enabled
    record = only_record()
    assert (record.action, record.object_id) == (Action.INSTRUMENT_DISABLED, str(row.pk))
    assert record.details == {"symbol": "NSE:TCS", "reason": "corporate action"}
    answer = operator.post(f"{path_of_object}/disable/", {"reason": "again"}, follow=True)
    assert "NSE:TCS is switched off already" in answer.text
    operator.post(f"{path_of_object}/enable/", {"reason": "over"})
    assert Instrument.objects.get().enabled
