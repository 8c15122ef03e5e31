"""An algorithm's positions and activity, read by its owner; closing and cancelling by hand."""

from typing import Any
from unittest.mock import patch

import pytest

from apps.accounts.models import User
from apps.core.api.resources import views
from apps.core.models import AuditRecord
from apps.engine.kernel.codes import CLOSE_LONG, ENTER_LONG
from apps.trading.live.commit import pending_cancels, pending_closes
from apps.trading.models import Order, Position
from tests.api.whole_tables import text, whole_arrow, whole_csv
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.trading.stepped_run import Stepper, make_stepper, play

SBIN, INFY = "NSE:SBIN", "NSE:INFY"
FLAT = (100.0, 101.0, 99.0, 100.0)
BOTH = {SBIN: FLAT, INFY: FLAT}


def path(stepper: Stepper, listing: str) -> str:
    return f"/api/trading/algorithms/{stepper.run.algorithm_id}/{listing}"


@pytest.fixture
def holder(alice: User) -> Stepper:
    """Return a run that holds SBIN after a trade in INFY, with a waiting order for INFY."""
    stepper = make_stepper(alice, SBIN, INFY)
    play(
        stepper,
        (BOTH, {SBIN: ENTER_LONG, INFY: ENTER_LONG}),
        BOTH,
        {SBIN: FLAT, INFY: (103, 105, 103, 105)},
        (BOTH, {INFY: ENTER_LONG}),
    )
    return stepper


def test_positions_show_their_levels_and_marks(api: Api, alice: User, holder: Stepper) -> None:
    listed = api(alice).get(path(holder, "positions")).json()
    assert listed["pagination"]["total"] == 2
    (held,) = api(alice).get(path(holder, "positions?status=open")).json()["data"]
    assert held == {
        "runId": holder.run.pk,
        "symbol": SBIN,
        "status": "open",
        "side": "long",
        "quantity": 10,
        "entryPrice": 100,
        "lastPrice": 100,
        "unrealisedProfit": 0,
        "stopLoss": 98,
        "takeProfit": 104,
        "openedAt": "2026-11-02T04:00:00.000Z",
        "closedAt": None,
        "closeRequestedAt": None,
    }
    (closed,) = api(alice).get(path(holder, "positions?status=closed")).json()["data"]
    assert (closed["symbol"], closed["lastPrice"]) == (INFY, 104)


def test_orders_have_the_price_of_their_fill(api: Api, alice: User, holder: Stepper) -> None:
    waiting = api(alice).get(path(holder, "orders?status=open")).json()["data"]
    assert [(order["symbol"], order["quantity"], order["fillPrice"]) for order in waiting] == [
        (INFY, None, None)
    ]
    (exit,) = [
        order
        for order in api(alice).get(path(holder, f"orders?symbol={INFY}")).json()["data"]
        if order["intent"] == "exit"
    ]
    assert (exit["type"], exit["price"], exit["fillPrice"]) == ("limit", 104, 104)
    assert exit["charges"] == pytest.approx(sum(exit["chargesByKind"].values()))


def test_trades_and_signals_are_listed(api: Api, alice: User, holder: Stepper) -> None:
    (trade,) = api(alice).get(path(holder, "trades")).json()["data"]
    assert (trade["symbol"], trade["exitReason"], trade["grossProfit"]) == (INFY, "take_profit", 40)
    assert trade["profit"] == pytest.approx(40 - trade["charges"])
    assert (trade["entryDate"], trade["exitDate"]) == ("2026-11-02", "2026-11-02")
    signals = api(alice).get(path(holder, "signals?order=asc&sort=time")).json()["data"]
    assert [signal["symbol"] for signal in signals].count(INFY) == 2
    assert api(alice).get(path(holder, "signals?followed=false")).json()["data"] == []


@pytest.mark.parametrize("listing", ["orders", "trades"])
def test_they_are_tables_too(api: Api, alice: User, holder: Stepper, listing: str) -> None:
    answer = api(alice).get(path(holder, listing), headers={"Accept": "text/csv"})
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    head, *lines = answer.text.splitlines()
    assert head.startswith("id,runId,symbol,side")
    assert len(lines) == api(alice).get(path(holder, listing)).json()["pagination"]["total"]
    assert answer["X-Total-Count"] == str(len(lines))


@pytest.mark.parametrize("listing", ["orders", "trades"])
@pytest.mark.parametrize("order", ["", "&sort=symbol&order=asc"])
def test_all_of_them_come_in_one_table(
    api: Api, alice: User, holder: Stepper, listing: str, order: str
) -> None:
    client, asked = api(alice), path(holder, listing) + "?whole=true" + order
    listed = client.get(path(holder, listing) + "?" + order).json()["data"]
    names = [name for name in listed[0] if name not in ("cancelRequestedAt", "chargesByKind")]
    rows = [{name: row[name] for name in names} for row in listed]
    assert len(rows) > 2 or listing == "trades"
    with patch.object(views, "ROWS_PER_PART", 2):
        assert whole_csv(client, asked) == [text(row) for row in rows]
        assert whole_arrow(client, asked) == rows


def test_page_links_of_a_table_keep_its_query(api: Api, alice: User, holder: Stepper) -> None:
    asked = path(holder, "orders") + f"?limit=1&symbol={INFY}"
    answer = api(alice).get(asked, headers={"Accept": "text/csv"})
    wanted = asked.replace(INFY, "NSE%3AINFY") + "&page=2"
    assert answer["Link"] == f'<{wanted}>; rel="next"'


def ask(client: Any, stepper: Stepper, symbol: str = SBIN) -> Any:
    return client.post(path(stepper, f"positions/{symbol}/close"))


def test_a_position_is_closed_at_the_next_open(api: Api, alice: User, holder: Stepper) -> None:
    client = api(alice)
    asked = ask(client, holder).json()
    assert asked["closeRequestedAt"] is not None
    assert ask(client, holder).json() == asked
    assert AuditRecord.objects.filter(action="position_close_asked").count() == 1
    assert set(pending_closes([holder.run.pk])[holder.run.pk]) == {SBIN}
    play(holder, (BOTH, {SBIN: CLOSE_LONG}), BOTH)
    assert not pending_closes([holder.run.pk])
    assert_error(ask(client, holder), 404, "NOT_FOUND")


def test_an_entry_that_waits_is_cancelled(api: Api, alice: User, holder: Stepper) -> None:
    order = Order.objects.get(status="open")
    client, address = api(alice), f"/api/trading/orders/{order.pk}/cancel"
    asked = client.post(address).json()
    assert (asked["status"], asked["cancelRequestedAt"] is None) == ("open", False)
    assert client.post(address).json() == asked
    assert AuditRecord.objects.filter(action="order_cancel_asked").count() == 1
    assert pending_cancels([holder.run.pk])[holder.run.pk] == {INFY}
    holder.state.orders["pending"] = 0
    play(holder, BOTH)
    refused = client.post(address)
    assert_error(refused, 422, "UNPROCESSABLE_ENTITY")
    assert refused.json()["error"]["details"]["currentStatus"] == "cancelled"


def test_a_waiting_exit_cannot_be_cancelled(api: Api, alice: User, holder: Stepper) -> None:
    play(holder, (BOTH, {SBIN: CLOSE_LONG}))
    exit = Order.objects.get(status="open", intent="exit")
    refused = api(alice).post(f"/api/trading/orders/{exit.pk}/cancel")
    assert_error(refused, 422, "UNPROCESSABLE_ENTITY", reason="exit")


@pytest.mark.parametrize("symbol", ["NSE:TCS", "%00", "x"])
def test_what_is_not_held_is_not_closed(
    api: Api, alice: User, holder: Stepper, symbol: str
) -> None:
    assert_error(ask(api(alice), holder, symbol), 404, "NOT_FOUND")


@pytest.mark.parametrize("order_id", ["x", "%00", "0" * 24])
def test_an_order_that_is_not_there_is_not_cancelled(api: Api, alice: User, order_id: str) -> None:
    assert_error(api(alice).post(f"/api/trading/orders/{order_id}/cancel"), 404, "NOT_FOUND")


def test_the_account_is_worth_what_is_held(api: Api, alice: User, holder: Stepper) -> None:
    Position.objects.filter(closed_at=None).update(unrealised=250)
    account = api(alice).get("/api/trading/account").json()
    assert account["equity"] == pytest.approx(account["balance"] + 250)
