"""Trading algorithms: their pages, and actions by hand."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.console import lists
from apps.core.database import server_clock
from apps.market.feeds import clock
from apps.trading.activity import live_summary
from apps.trading.models import DriftReport, Order, Position, Run, RunState, Signal
from tests import make
from tests.backtests.price_series import wave_candles
from tests.console.conftest import Browse
from tests.market.bars import store_candles
from tests.trading.algorithm_states import add_order, algorithm_in, hold, start, stopped_algorithm

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(alice: User) -> Run:
    return start(stopped_algorithm(alice))


@pytest.fixture
def client(browse: Browse, alice: User) -> Client:
    return browse(alice)


def address(run: Run) -> str:
    return f"/app/live/{run.algorithm_id}"


def add_signal(run: Run, **fields: object) -> Signal:
    facts = {"symbol": "NSE:NIFTY", "side": "long", "action": "entry", "followed": True}
    return Signal.objects.create(
        run=run, algorithm=run.algorithm, **{"bar_time": make.NOW, **facts, **fields}
    )


def test_running_algorithms_are_listed_with_their_results(
    client: Client, alice: User, run: Run
) -> None:
    hold(run, unrealised=1234)
    add_signal(run)
    [row] = client.get("/app/live").context["listing"].rows
    assert row["id"] == run.algorithm_id
    assert (row["live_summary"]["openPositions"], row["live_summary"]["unrealisedProfit"]) == (
        1,
        1234,
    )
    assert row["live_summary"]["lastSignal"]["side"] == "long"
    part = client.get("/app/live", headers={"HX-Request": "true"}).content
    assert b"1,234" in part
    assert b"<html" not in part


def test_net_profit_is_less_than_the_profit_of_the_winners(
    client: Client, alice: User, run: Run
) -> None:
    """`totalProfit` is the sum of winning trades alone."""
    performance = {**run.algorithm.performance, "totalProfit": 109, "netProfit": -7654.25}
    Algorithm.objects.filter(pk=run.algorithm_id).update(performance=performance)
    for page in ("/app", "/app/algorithms", "/app/live", address(run)):
        text = client.get(page).content.decode()
        assert "\N{MINUS SIGN}₹7,654" in text, page
        assert "₹109" not in text, page


def test_running_algorithms_are_listed_in_pages(
    client: Client, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "ROWS", 2)
    names = {start(stopped_algorithm(alice, initialCapital=100_000)).algorithm_id for _ in range(3)}
    first, second = (client.get(f"/app/live?page={page}") for page in (1, 2))
    assert b"Page 1 of 2, 3 in all" in first.content
    assert 'hx-get="/app/live?page=2"' in second.content.decode()
    assert {row["id"] for page in (first, second) for row in page.context["listing"].rows} == names


def test_stopped_algorithms_are_not_listed(client: Client, alice: User, bob: User) -> None:
    algorithm_in(alice, "draft"), algorithm_in(alice, "stopped"), algorithm_in(bob, "active")
    assert client.get("/app/live").context["listing"].rows == []


def test_the_profit_of_today_is_the_gain_in_equity(alice: User, run: Run) -> None:
    now = make.NOW
    RunState.objects.filter(run=run).update(equity=1_000_250.5)
    run.sessions.create(day=now.date(), first_row=0, data=b"", equity=1_000_000)
    run.sessions.create(day=now.date() - timedelta(days=1), first_row=0, data=b"", equity=900_000)
    key = run.algorithm_id
    [[algorithm_id, row]] = live_summary.live_summaries(
        owner=alice, algorithm_ids=[key], now=now
    ).items()
    assert (algorithm_id, float(row.profit_today or 0)) == (key, 250.5)
    tomorrow = live_summary.live_summaries(
        owner=alice, algorithm_ids=[key], now=now + timedelta(days=1)
    )
    assert tomorrow[key].profit_today is None


def test_the_page_shows_positions_orders_and_signals(client: Client, run: Run) -> None:
    hold(run)
    add_order(run)
    add_signal(run, followed=False, reason="position_limit")
    page = client.get(address(run)).content.decode()
    assert f"{address(run)}/close/NSE%3ANIFTY" in page
    assert "Position limit" in page
    part = client.get(address(run), headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert 'aria-label="Cancel the order of NSE:NIFTY"' in part
    for kind in ("positions", "orders", "trades", "signals", "drift"):
        assert client.get(f"{address(run)}/{kind}").status_code == 200
    assert client.get(f"{address(run)}/secrets").status_code == 404


def test_a_position_is_closed_after_a_question(client: Client, run: Run) -> None:
    position = hold(run)
    question = client.get(f"{address(run)}/close/NSE:NIFTY")
    assert b"Close NSE:NIFTY?" in question.content
    position.refresh_from_db()
    assert position.close_requested_at is None
    assert client.post(f"{address(run)}/close/NSE:NIFTY")["Location"] == address(run)
    position.refresh_from_db()
    assert position.close_requested_at is not None
    assert b"closing" in client.get(address(run)).content
    assert client.get(f"{address(run)}/close/NSE:SBIN").status_code == 404
    assert client.post(f"{address(run)}/close/<b>").status_code == 404


def test_a_waiting_entry_can_be_cancelled_and_a_filled_one_cannot(client: Client, run: Run) -> None:
    order = add_order(run)
    client.post(f"{address(run)}/do/cancel", {"orderId": order.pk})
    order.refresh_from_db()
    assert order.cancel_requested_at is not None
    Order.objects.filter(pk=order.pk).update(status="filled", ended_at=make.NOW, quantity=1)
    refused = client.post(f"{address(run)}/do/cancel", {"orderId": order.pk})
    assert (refused.status_code, b"The order is filled" in refused.content) == (422, True)
    exit_order = add_order(run, intent="exit")
    assert client.post(f"{address(run)}/do/cancel", {"orderId": exit_order.pk}).status_code == 422
    assert client.post(f"{address(run)}/do/cancel").status_code == 404


def test_a_run_is_paused_resumed_and_stopped(client: Client, run: Run) -> None:
    def status() -> str:
        return Algorithm.objects.get(pk=run.algorithm_id).status

    hold(run)
    client.post(f"{address(run)}/do/pause")
    assert status() == "paused"
    assert client.post(f"{address(run)}/do/pause").status_code == 422
    client.post(f"{address(run)}/do/resume")
    assert status() == "active"
    assert b"1 open position." in client.get(f"{address(run)}/stop").content
    assert status() == "active"
    client.post(f"{address(run)}/stop", {"closePositions": "on"})
    run.refresh_from_db()
    assert (status(), run.close_requested_at is not None) == ("stopped", True)


def test_live_pages_of_a_run_are_hidden_from_other_users(
    browse: Browse, bob: User, run: Run
) -> None:
    hold(run)
    order = add_order(run)
    stranger = browse(bob)
    for page in ("", "/chart?symbol=NSE:NIFTY", "/drift", "/stop", "/orders", "/close/NSE:NIFTY"):
        assert stranger.get(address(run) + page).status_code == 404
    for page in ("/stop", "/close/NSE:NIFTY", "/do/pause", "/do/resume"):
        assert stranger.post(address(run) + page).status_code == 404
    assert stranger.post(f"{address(run)}/do/cancel", {"orderId": order.pk}).status_code == 404
    assert not Position.objects.exclude(close_requested_at=None).exists()


def test_the_chart_has_the_candles_that_the_run_has_seen(client: Client, run: Run) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2026-04-01", 3, step=900))
    noon = datetime(2026, 4, 1, 6, 30, tzinfo=UTC)
    clock.move(int(noon.timestamp()), symbols=[], timeframe="15m", now=make.NOW)
    filled = add_order(run, status="filled", quantity=5, ended_at=noon)
    filled.fills.create(quantity=5, price=100, charges=1, charges_by_kind={}, at=noon)
    answer = client.get(f"{address(run)}/chart?symbol=NSE:NIFTY").json()
    times = [row[0] for row in answer["candles"]]
    assert times[0] == "2026-04-01T03:45:00.000Z"
    assert times[-1] == "2026-04-01T06:15:00.000Z"
    assert [fill["fillPrice"] for fill in answer["fills"]] == [100]
    assert client.get(f"{address(run)}/chart?symbol=NSE:TCS").status_code == 404


def test_drift_is_shown_by_session(client: Client, run: Run) -> None:
    day = make.NOW.date()
    run.sessions.create(day=day, first_row=0, data=b"", equity=1)
    run.sessions.create(day=day - timedelta(days=1), first_row=0, data=b"", equity=1)
    difference = {
        "kind": "fill",
        "time": int(make.NOW.timestamp()),
        "symbol": "NSE:NIFTY",
        "what": "buy",
        "expected": {"price": "100.5"},
        "actual": None,
        "reason": None,
    }
    DriftReport.objects.create(
        run=run, day=day, rows=25, total=1, differences=[difference], checked_at=timezone.now()
    )
    page = client.get(f"{address(run)}/drift")
    assert [(row.day, row.total) for row in page.context["sessions"]] == [
        (day, 1),
        (day - timedelta(days=1), None),
    ]
    assert b"price 100.5" in page.content
    assert b"2 sessions traded; a comparison needs 5." in page.content
    assert client.get(f"{address(run)}/drift?date=yesterday").status_code == 400
    assert client.get(f"{address(run)}/drift?date={day - timedelta(days=1)}").status_code == 200


def test_a_list_costs_the_same_for_any_number(
    client: Client, alice: User, django_assert_max_num_queries: object
) -> None:
    keys = [start(stopped_algorithm(alice, initialCapital=100_000)).algorithm_id for _ in range(5)]
    with django_assert_max_num_queries(6):  # type: ignore[operator]
        live_summary.live_summaries(owner=alice, algorithm_ids=keys, now=server_clock.now())


def test_stopping_a_running_algorithm_asks_first(client: Client, run: Run) -> None:
    page = f"/app/algorithms/{run.algorithm_id}"
    assert f'href="{address(run)}/stop"' in client.get(page).content.decode()
    assert client.post(f"{page}/do/stop").status_code == 404
    assert Algorithm.objects.get(pk=run.algorithm_id).status == "active"
