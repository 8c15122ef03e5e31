"""The first page with its kill switch, and the settings."""

from datetime import datetime, timedelta

from django.utils import timezone

from apps.accounts.models import User
from apps.alerts.missing import notice_missing_alerts
from apps.algorithms.models import Algorithm
from apps.core.times import INDIA
from apps.trading import services as trading
from apps.webhooks.event_types import EVENT_SCHEMAS, EventType
from tests.alerts.hooks import hook_of
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.console.conftest import Browse
from tests.console.forms import make_from_gallery
from tests.market.bars import store_candles
from tests.trading.algorithm_states import algorithm_in, start, step_over, stopped_algorithm
from tests.webhooks.events import emit


def test_the_kill_switch_asks_for_its_word(browse: Browse, alice: User) -> None:
    client = browse(alice)
    assert client.post("/app/kill-switch", {"confirmation": "stop"}).status_code == 400
    assert not trading.read_switch(owner=alice).active
    client.post("/app/kill-switch", {"confirmation": "STOP", "reason": "news"})
    assert trading.read_switch(owner=alice).active
    assert b"Allow trading again" in client.get("/app").content
    client.post("/app/kill-switch/release")
    assert not trading.read_switch(owner=alice).active


def test_the_gallery_filters_by_style_timeframe_and_sides(browse: Browse, alice: User) -> None:
    client = browse(alice)
    shown = client.get("/app/gallery?style=mean+reversion&timeframe=1d&sides=").context
    templates = shown["strategies"]
    assert templates
    assert {(row.style, row.timeframe) for row in templates} == {("mean reversion", "1d")}
    empty = client.get("/app/gallery?style=none")
    assert empty.context["strategies"] == []
    assert b"No strategy fits." in empty.content


def test_a_blank_strategy_is_a_draft_on_its_steps(browse: Browse, alice: User) -> None:
    client = browse(alice)
    address = make_from_gallery(client, "blank")
    assert address.endswith("/steps")
    assert client.get(address).status_code == 200
    [draft] = client.get("/app").context["attention"]
    assert draft["status"] == "draft"


def test_a_draft_needs_attention(browse: Browse, alice: User) -> None:
    client = browse(alice)
    address = make_from_gallery(client, "rsi-2")
    assert client.get("/app").context["attention"] == []
    steps = client.get(f"{address}/json").context["text"].replace('"timeframe": "1d",', "")
    client.post(f"{address}/json", {"steps": steps})
    [item] = client.get("/app").context["attention"]
    assert (item["status"], item["address"]) == ("draft", "/steps")


def test_an_algorithm_in_error_shows_its_reason_and_advice(browse: Browse, alice: User) -> None:
    algorithm = algorithm_in(alice, "error")
    page = browse(alice).get("/app")
    [item] = page.context["attention"]
    assert (item["id"], item["failure"].reason) == (algorithm.pk, "no bars for an hour")
    assert item["failure"].advice in page.content.decode()


def test_a_newcomer_is_shown_the_next_step(browse: Browse, alice: User) -> None:
    client = browse(alice)

    def next_step() -> str:
        return str(client.get("/app").context["next_step"]["name"])

    assert next_step() == "choose"
    make_from_gallery(client, "ema-cross")
    assert next_step() == "backtest"
    algorithm = Algorithm.objects.get()
    store_candles("NSE:RELIANCE", "5m", wave_candles("2024-01-29", 10, step=300))
    submit(alice, algorithm.pk)
    run_queued()
    assert next_step() == "start"
    run = start(algorithm)
    assert next_step() == "watch"
    step_over(run, "2024-02-05T10:00:00+05:30")
    assert client.get("/app").context["next_step"] is None


def test_the_settings_change_the_profile_and_end_sessions(browse: Browse, alice: User) -> None:
    client, other = browse(alice), browse(alice)
    client.post("/app/settings", {"name": "Alice Rao"})
    page = client.get("/app/settings")
    assert b"Alice Rao" in page.content
    [ended] = [row["id"] for row in page.context["sessions"] if not row["current"]]
    client.post(f"/app/settings/end-session/{ended}")
    assert other.get("/app").status_code == 302
    assert client.post("/app/settings/revoke-key/0").status_code == 404
    assert client.get("/app/settings/webhooks/0").status_code == 404


def test_a_hook_without_its_alert_is_shown_on_the_first_page(browse: Browse, alice: User) -> None:
    since = datetime(2026, 10, 30, tzinfo=INDIA)
    hook = hook_of(alice, expected_by="15:00", now=since)
    notice_missing_alerts(now=datetime(2026, 11, 2, 15, 1, tzinfo=INDIA))
    page = browse(alice).get("/app").content.decode()
    assert f'<a href="/app/alerts/{hook.pk}">Breakouts</a>' in page
    assert "none came by 15:00 on 2026-11-02" in page


def test_alerts_and_drift_are_shown_on_the_first_page(browse: Browse, alice: User) -> None:
    client = browse(alice)
    run = start(stopped_algorithm(alice))
    emit(alice, run.algorithm_id, type=EventType.PERFORMANCE_ALERT)
    emit(alice, run.algorithm_id, type=EventType.DAILY_LOSS_LIMIT_REACHED)
    emit(alice, run.algorithm_id, type=EventType.DAILY_PROFIT_LIMIT_REACHED)
    emit(alice, run.algorithm_id, type=EventType.ALGORITHM_STARTED)
    today = datetime.now(INDIA).date()
    for day, total in ((today, 2), (today - timedelta(days=1), 0), (today - timedelta(days=60), 9)):
        run.drift.create(day=day, rows=9, total=total, differences=[], checked_at=timezone.now())
    page = client.get("/app")
    profit, loss, alert = page.context["alerts"]
    assert "profit" in profit
    assert b"earned" in page.content
    assert (loss["limit"], alert["metric"]) == (
        EVENT_SCHEMAS[EventType.DAILY_LOSS_LIMIT_REACHED].example["limit"],
        EVENT_SCHEMAS[EventType.PERFORMANCE_ALERT].example["metric"],
    )
    assert b"2 differences from its backtest" in page.content
    assert b"9 differences" not in page.content


def test_limits_are_written_for_people(browse: Browse, alice: User) -> None:
    page = browse(alice).get("/app/settings")
    rows = {row["name"]: row for row in page.context["limits"]}
    assert rows["Stored results"]["limit"] == "2.0\N{NO-BREAK SPACE}GB"
    assert rows["Backtests"] == {"name": "Backtests", "used": "0", "limit": "1,000", "percent": 0}
    assert {"Algorithms", "Algorithms that trade", "Webhooks", "API keys"} <= rows.keys()
