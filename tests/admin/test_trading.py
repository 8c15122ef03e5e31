"""Operators view trading, and halt it for everybody."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.core.models import AuditRecord
from apps.trading.models import BrokerHealth, GlobalSwitch, LedgerEntry
from tests import make
from tests.admin.conftest import act, browser_of
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.trading.algorithm_states import add_order, hold, lose, start, stopped_algorithm

SWITCH = "/admin/trading/globalswitch"
BROKERS = "/admin/trading/brokerhealth"


def is_on() -> bool:
    return GlobalSwitch.objects.get().active


@pytest.fixture
def switch(operator: Client) -> GlobalSwitch:
    assert f'href="{SWITCH}/1/change/"' in operator.get(f"{SWITCH}/").text
    return GlobalSwitch.objects.get()


def test_switching_trading_on_and_off_is_on_record(
    operator: Client, olga: User, switch: GlobalSwitch
) -> None:
    assert "Write the reason too" in act(operator, "halt", switch, "")
    assert not is_on()
    assert "Done" in act(operator, "halt", switch, "bad data")
    assert is_on()
    assert "Done" in act(operator, "lift", switch, "good data")
    assert not is_on()
    assert "is off already" in act(operator, "lift", switch, "good data")
    turned = AuditRecord.objects.filter(object_type="globalswitch").order_by("id")
    assert [(row.action, row.actor_kind, row.actor) for row in turned] == [
        ("kill_switch_on", "operator", olga.pk),
        ("kill_switch_off", "operator", olga.pk),
    ]
    assert turned[0].details == {"reason": "bad data"}


def test_a_user_cannot_switch_trading(switch: GlobalSwitch, alice: User) -> None:
    act(browser_of(alice), "halt", switch, "mine")
    assert not is_on()


@pytest.mark.parametrize(
    "page",
    """
        account run position dailyloss ledgerentry killswitch order trade signal
    """.split(),
)
def test_running_algorithms_are_shown(operator: Client, alice: User, page: str) -> None:
    algorithm = stopped_algorithm(alice)
    hold(start(algorithm))
    add_order(algorithm.runs.get())
    lose(algorithm, 5, now=make.NOW)
    for query in ("", "?q=x", "?q=alice@example.com"):
        assert operator.get(f"/admin/trading/{page}/{query}").status_code == 200


def test_the_pages_of_an_order_and_a_ledger_entry_list_fills_and_postings(
    operator: Client, alice: User
) -> None:
    order = add_order(
        start(stopped_algorithm(alice)), status="filled", ended_at=make.NOW, quantity=3
    )
    order.fills.create(quantity=3, price=7, charges=1, charges_by_kind={"gst": "1"}, at=make.NOW)
    entry = LedgerEntry.objects.get()
    assert "capital" in operator.get(f"/admin/trading/ledgerentry/{entry.pk}/change/").text
    assert "gst" in operator.get(f"/admin/trading/order/{order.pk}/change/").text


def test_an_event_is_found_by_its_algorithm(operator: Client, alice: User) -> None:
    algorithm, other = stopped_algorithm(alice), stopped_algorithm(alice)
    for new in (algorithm, other):
        start(new)
    listed = operator.get("/admin/webhooks/event/", {"q": algorithm.pk}).text
    assert algorithm.pk in listed
    assert other.pk not in listed


def test_a_broker_that_is_cut_lets_nothing_start(operator: Client, alice: User, api: Api) -> None:
    operator.get(f"{BROKERS}/")
    algorithm = stopped_algorithm(alice)
    refusals = {"cut": (503, "BROKER_CONNECTION_FAILED"), "limit": (429, "BROKER_RATE_LIMIT")}
    path = f"/api/trading/algorithms/{algorithm.pk}/start"
    for verb, refusal in refusals.items():
        assert "Done" in act(operator, verb, BrokerHealth.objects.get(), "drill")
        assert_error(api(alice).post(path, {}), *refusal, broker="paper")
        assert BrokerHealth.objects.get().detail == "drill"
        act(operator, "restore", BrokerHealth.objects.get(), "over")
    assert api(alice).post(path, {}).status_code == 200
    assert AuditRecord.objects.filter(action="broker_declared").count() == 4
