"""Operators look at what trades, and halt it for everybody by typing that they mean it."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.core.models import AuditRecord
from apps.trading.models import BrokerHealth, GlobalSwitch, LedgerEntry
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.trading.algorithm_states import add_order, hold, lose, start, stopped_algorithm

SWITCH = "/admin/trading/globalswitch"
BROKERS = "/admin/trading/brokerhealth"


@pytest.fixture
def olga(db: None) -> User:
    user = make.user("olga")
    user.is_staff = True
    user.save(update_fields=["is_staff"])
    return user


@pytest.fixture
def operator(olga: User) -> Client:
    client = Client()
    client.force_login(olga)
    return client


def turn(client: Client, verb: str, confirmation: str) -> str:
    body = {"reason": "bad data", "confirmation": confirmation}
    return client.post(f"{SWITCH}/1/do/{verb}/", body, follow=True).text


def is_on() -> bool:
    return GlobalSwitch.objects.get().active


def test_the_switch_is_there_to_be_found(operator: Client) -> None:
    assert f'href="{SWITCH}/1/change/"' in operator.get(f"{SWITCH}/").text
    shown = operator.get(f"{SWITCH}/1/change/").text
    assert "../do/halt/" in shown
    assert "../do/lift/" not in shown


def test_it_says_what_has_to_be_typed(operator: Client) -> None:
    operator.get(f"{SWITCH}/")
    assert "Type HALT EVERYBODY to confirm." in operator.get(f"{SWITCH}/1/do/halt/").text


@pytest.mark.parametrize("typed", ["", "yes", "halt everybody", " HALT EVERYBODY"])
def test_without_the_very_words_nothing_happens(operator: Client, typed: str) -> None:
    operator.get(f"{SWITCH}/")
    assert "errorlist" in turn(operator, "halt", typed)
    assert not is_on()


def test_it_is_turned_on_and_off_on_record(operator: Client, olga: User) -> None:
    operator.get(f"{SWITCH}/")
    assert "Done" in turn(operator, "halt", "HALT EVERYBODY")
    assert is_on()
    assert "Done" in turn(operator, "lift", "LET TRADE AGAIN")
    assert not is_on()
    assert "is off already" in turn(operator, "lift", "LET TRADE AGAIN")
    turned = AuditRecord.objects.filter(object_type="globalswitch").order_by("id")
    assert [(row.action, row.actor_kind, row.actor) for row in turned] == [
        ("kill_switch_on", "operator", olga.pk),
        ("kill_switch_off", "operator", olga.pk),
    ]
    assert turned[0].details == {"reason": "bad data"}


def test_a_user_cannot_turn_it(operator: Client, alice: User) -> None:
    operator.get(f"{SWITCH}/")
    client = Client()
    client.force_login(alice)
    turn(client, "halt", "HALT EVERYBODY")
    assert not is_on()


@pytest.mark.parametrize(
    "page",
    """
        account run position dailyloss ledgerentry killswitch order trade signal barstream
    """.split(),
)
def test_what_trades_is_shown(operator: Client, alice: User, page: str) -> None:
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
        assert (
            "Done"
            in operator.post(f"{BROKERS}/paper/do/{verb}/", {"reason": "drill"}, follow=True).text
        )
        assert_error(api(alice).post(path, {}), *refusal, broker="paper")
        assert BrokerHealth.objects.get().detail == "drill"
        operator.post(f"{BROKERS}/paper/do/restore/", {"reason": "over"}, follow=True)
    assert api(alice).post(path, {}).status_code == 200
    assert AuditRecord.objects.filter(action="broker_declared").count() == 4
