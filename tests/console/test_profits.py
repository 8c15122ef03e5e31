"""Open, net, total and today's profit add up to the equity of the paper account."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.conf import settings
from django.db.models import Sum

from apps.accounts.models import User
from apps.trading import services
from apps.trading.live.runner import Runner
from apps.trading.models import Fill, Position, Run, SessionStart, Trade
from tests import make
from tests.console.conftest import Browse
from tests.trading.algorithm_states import start, stopped_algorithm
from tests.trading.live.market_day import (
    FIRST,
    catch_up,
    crossing_steps,
    random_candles,
    session_starts,
    started,
    store_bars,
)

pytestmark = pytest.mark.django_db

LENGTH = 900


@pytest.fixture
def run(alice: User) -> Run:
    """Return a run that has traded for two days and a half, and holds a position."""
    starts = session_starts(3, LENGTH)[:-8]
    series = {"NSE:RELIANCE": random_candles(5, starts, wild=0.01)}
    store_bars(series, "15m")
    run = started(alice, crossing_steps(series, "15m"), at=FIRST)
    catch_up(series, "15m", LENGTH, Runner())
    assert Position.objects.open().filter(run=run).exists()
    return run


def test_the_profits_add_up_and_the_pages_show_them(browse: Browse, alice: User, run: Run) -> None:
    key = run.algorithm_id
    summary = services.live_summaries(owner=alice, algorithm_ids=[key], now=make.NOW)[key]
    total = services.total_profit(algorithm_id=key)
    account = services.read_account(owner=alice, now=make.NOW)
    days = services.profits_by_day(owner=alice)
    open_charges = Fill.objects.filter(order__run=run, order__intent="entry").latest("pk").charges

    assert Decimal(str(summary.net_profit)) == Trade.objects.aggregate(net=Sum("profit"))["net"]
    assert open_charges > 0
    assert Decimal(str(summary.net_profit)) + summary.unrealised - open_charges == total
    assert account.equity == settings.PAPER_ACCOUNT_BALANCE + total
    assert account.equity - account.balance == services.open_profit(owner=alice)
    assert services.open_profit(owner=alice) == summary.unrealised
    assert len(days) == 3
    assert sum(profit for _, profit in days) == pytest.approx(float(total), abs=0.01)
    assert days[-1][1] == pytest.approx(float(summary.profit_today or 0), abs=0.01)

    client = browse(alice)
    page, home = client.get(f"/app/live/{run.algorithm_id}"), client.get("/app")
    shown, total = page.context["live_summary"], page.context["total_profit"]
    added = shown["netProfit"] + shown["unrealisedProfit"] - page.context["open_charges"]
    assert added == pytest.approx(total)
    assert float(home.context["market"]["open_profit"]) == shown["unrealisedProfit"]
    assert float(home.context["open_profit"]) == shown["unrealisedProfit"]
    assert home.context["profit_today"] == pytest.approx(shown["profitToday"], abs=0.01)
    assert home.context["drawing"].shapes


def test_a_reset_begins_the_days_anew(alice: User) -> None:
    run = start(stopped_algorithm(alice))
    SessionStart.objects.create(run=run, day=make.NOW.date(), first_row=0, data=b"", equity=1)
    assert len(services.profits_by_day(owner=alice)) == 1
    services.stop(owner=alice, algorithm_id=run.algorithm_id, close_positions=True, now=make.NOW)
    services.reset_account(owner=alice, now=make.NOW)
    run.refresh_from_db()
    Run.objects.filter(pk=run.pk).update(started_at=make.NOW - timedelta(days=1))
    assert services.profits_by_day(owner=alice) == []
