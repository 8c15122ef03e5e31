"""Events that no bar causes: the summary of a day, a stale feed, and drift; each is told once."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from apps.accounts.models import User
from apps.core.times import moment
from apps.market.models import BufferedCandle
from apps.market.rulebook.files.rule_set import bundled_files
from apps.market.services import end_replay, load_rule_set
from apps.trading import services
from apps.trading.activity.drift import checking
from apps.trading.activity.notices import day_summaries, stale_feeds
from apps.trading.models import DaySummary, DriftReport, FeedOutage, Fill, Run, Trade
from apps.webhooks.models import Event
from tests import make
from tests.trading.live.market_day import DAY, FIRST, SESSION, started
from tests.trading.live.test_effects import LENGTH, SHARE, Market, always_in

pytestmark = pytest.mark.django_db

CLOSE = FIRST + SESSION
DUE = CLOSE + day_summaries.GRACE_SECONDS
TODAY = date(2026, 6, 1)


def written(type: str) -> list[dict[str, Any]]:
    rows = Event.objects.filter(type=type).order_by("algorithm_id", "sequence")
    return [event.data for event in rows]


def summarise(market: Market, at: int) -> int:
    market.at(at)
    return day_summaries.write_due_summaries(now=make.NOW)


@pytest.fixture
def market() -> Market:
    return Market([101, 101, 102, 99, 120, 121])


@pytest.fixture
def run(alice: User, market: Market) -> Run:
    return started(alice, always_in(charges="standard"))


def test_a_fill_tells_what_it_earned_and_what_is_left(run: Run, market: Market) -> None:
    market.go(4)
    opened, *_ = written("trade.executed")
    assert (opened["positionAfter"], opened["realisedProfit"]) == (100, None)
    assert opened["charges"] == float(Fill.objects.earliest("pk").charges) > 0
    start = run.sessions.get().equity
    services.stop(
        owner=run.account.owner, algorithm_id=run.algorithm_id, close_positions=True, now=make.NOW
    )
    market.go(2)
    closed, trade = written("trade.executed")[-1], Trade.objects.get()
    assert closed["positionAfter"] == 0
    assert closed["tradeProfit"] == float(trade.profit) < closed["realisedProfit"]
    assert closed["realisedProfit"] == float(trade.gross_profit)
    run.refresh_from_db()
    assert closed["profitToday"] == pytest.approx(float(run.capital) - start, abs=0.01)


def test_the_profit_of_the_day_counts_earlier_runs(run: Run, market: Market) -> None:
    owner, key = run.account.owner, run.algorithm_id
    market.go(2)
    services.stop(owner=owner, algorithm_id=key, close_positions=True, now=make.NOW)
    market.go(2)
    first = written("trade.executed")[-1]["profitToday"]
    services.start(owner=owner, algorithm_id=key, now=make.NOW)
    market.go(2)
    again = written("trade.executed")[-1]
    assert again["runId"] != run.pk
    assert first != 0
    earned = 100 * (121 - again["price"])
    assert again["profitToday"] == pytest.approx(first + earned - again["charges"], abs=0.02)


def test_a_day_is_summed_up_once_after_the_close(run: Run, market: Market) -> None:
    market.go(6)
    assert summarise(market, DUE - 1) == 0
    assert summarise(market, DUE) == 1
    assert summarise(market, DUE + 60) == 0
    [data] = written("day.summary")
    [of_algorithm] = data["algorithms"]
    assert (data["day"], data["openPositions"], data["trades"]) == ("2026-06-01", 1, 0)
    assert of_algorithm["algorithmName"] == run.algorithm.name
    start, end = run.sessions.get().equity, run.state.equity
    assert data["profitToday"] == of_algorithm["profitToday"] == pytest.approx(end - start)
    assert data["charges"] == float(Fill.objects.get().charges)


def test_the_database_keeps_the_summary_of_a_day_unique(run: Run, market: Market) -> None:
    market.go(6)
    summarise(market, DUE)
    with pytest.raises(IntegrityError), transaction.atomic():
        DaySummary.objects.create(account=run.account, day=TODAY, sent_at=make.NOW)
    with pytest.raises(ValidationError):
        DaySummary(account=run.account, day=TODAY, sent_at=make.NOW).validate_constraints()


def test_a_special_session_ends_the_day_early(run: Run, market: Market) -> None:
    short_day = "NSE,,2026-06-01,special,a short day,09:15,11:00,a circular,\n"
    days = bundled_files()["days.csv"] + short_day
    load_rule_set(files={"days.csv": days}, source="a circular", now=make.NOW)
    market.go(6)
    close = FIRST + 105 * 60
    assert summarise(market, close + day_summaries.GRACE_SECONDS - 1) == 0
    assert summarise(market, close + day_summaries.GRACE_SECONDS) == 1


def test_no_summary_is_written_of_a_day_without_a_session(run: Run, market: Market) -> None:
    """The day after has no bar, like a holiday; and the day before yesterday is over."""
    market.go(6)
    assert summarise(market, DUE + DAY) == 1
    assert [summary.day for summary in DaySummary.objects.all()] == [TODAY]
    DaySummary.objects.all().delete()
    assert summarise(market, DUE + 2 * DAY) == 0


def stale(at: int) -> int:
    return stale_feeds.notice_stale_feeds(now=moment(at))


@pytest.fixture
def waiting(run: Run, market: Market) -> int:
    """Return when the next bar is due: the market's time is the real time again."""
    market.go(4)
    end_replay()
    return market.times[4] + LENGTH


def test_a_stale_feed_is_told_once_for_an_outage(run: Run, waiting: int) -> None:
    assert stale(waiting + 299) == 0
    assert stale(waiting + 300) == 1
    assert stale(waiting + 360) == 0
    [data] = written("feed.stale")
    assert data["minutes"] == 5
    assert data["lastBarAt"] == "2026-06-01T04:45:00.000Z"
    assert [row["algorithmId"] for row in data["algorithms"]] == [run.algorithm_id]


def test_the_next_outage_is_told_again(run: Run, market: Market, waiting: int) -> None:
    assert stale(waiting + 300) == 1
    market.go(1)
    end_replay()
    assert stale(waiting + LENGTH + 299) == 0
    assert stale(waiting + LENGTH + 300) == 1
    assert FeedOutage.objects.count() == 2


def test_a_feed_that_brings_bars_is_not_stale(run: Run, waiting: int) -> None:
    """The runner may be behind: what counts is what was received."""
    bar = dict.fromkeys(("open", "high", "low", "close", "volume"), 100.0)
    BufferedCandle.objects.create(
        symbol=SHARE, timeframe="15m", time=waiting, received_at=moment(waiting + 60), **bar
    )
    assert stale(waiting + 360) == 0
    assert stale(waiting + 361) == 1


def test_a_feed_is_not_stale_after_the_close_or_on_a_holiday(run: Run, waiting: int) -> None:
    assert stale(CLOSE + 600) == 0
    assert stale(waiting + 5 * DAY) == 0  # a Saturday
    holiday = "NSE,,2026-06-02,holiday,a holiday,,,a circular,\n"
    days = bundled_files()["days.csv"] + holiday
    load_rule_set(files={"days.csv": days}, source="a circular", now=make.NOW)
    assert stale(waiting + DAY) == 0


def test_a_replay_is_never_stale(run: Run, market: Market) -> None:
    market.go(4)
    assert stale(market.times[4] + LENGTH + 300) == 0


def test_a_stopped_algorithm_awaits_nothing(run: Run, waiting: int) -> None:
    services.stop(
        owner=run.account.owner, algorithm_id=run.algorithm_id, close_positions=True, now=make.NOW
    )
    assert stale(waiting + 300) == 0


def test_drift_is_told_once_for_a_session(run: Run, market: Market) -> None:
    market.go(6)
    Trade.objects.all().delete()
    Fill.objects.update(price=1)
    for _ in range(2):
        checking.check_ended(now=make.NOW, market_now=FIRST + DAY, stopping=lambda: False)
        DriftReport.objects.update(through=FIRST)  # as if it were under way
    [data] = written("drift.found")
    assert (data["runId"], data["day"]) == (run.pk, "2026-06-01")
    assert data["total"] == DriftReport.objects.get().total > 0


def test_an_intervention_is_no_finding(run: Run, market: Market) -> None:
    market.go(3)
    services.stop(
        owner=run.account.owner, algorithm_id=run.algorithm_id, close_positions=True, now=make.NOW
    )
    market.go(3)
    checking.check_ended(now=make.NOW, market_now=FIRST + DAY, stopping=lambda: False)
    assert DriftReport.objects.get().total > 0
    assert written("drift.found") == []


def test_the_patience_is_a_setting(run: Run, waiting: int, settings: Any) -> None:
    settings.FEED_STALE_MINUTES = 30
    assert stale(waiting + 300) == 0
    assert stale(waiting + timedelta(minutes=30).seconds) == 1
