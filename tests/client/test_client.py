"""Every call of the client against the service; the answers are checked against the document."""

import stat
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import ApiKey, LoginSession, User
from apps.alerts.models import AlertHook
from apps.algorithms.models import Algorithm
from apps.backtests.models import Backtest
from apps.client.algotrade_client import Client, errors, keys, log_in, sign_up
from apps.webhooks.event_types import EventType
from tests import make
from tests.accounts.authenticator import authenticator, code_of
from tests.alerts.hooks import alert_in, message_to
from tests.api.test_keys import new_key
from tests.backtests.price_series import wave_candles
from tests.backtests.workers import run_all_queued
from tests.client.wire import URL, DjangoWire, options_of
from tests.conftest import Api, client_of
from tests.market.bars import store_candles
from tests.symbols.instruments import equity
from tests.trading.algorithm_states import algorithm_in
from tests.webhooks.events import emit


@pytest.fixture
def wire(db: None) -> DjangoWire:
    return DjangoWire(client_of(), run_all_queued)


@pytest.fixture
def client(wire: DjangoWire, alice: User) -> Client:
    return Client(URL, new_key(alice)[1], **options_of(wire))


@pytest.fixture
def history(db: None) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-02-01", 20))


# Logins.


def test_a_new_account_gets_a_key_and_keeps_no_session(wire: DjangoWire) -> None:
    made = sign_up(
        URL, "trader@example.com", "a long password", name="A Trader", **options_of(wire)
    )
    assert set(made.scopes) == {"read", "backtest", "trade"}
    assert made.key not in repr(made)
    client = Client(URL, made.key, **options_of(wire))
    assert client.runs.account().currency == "INR"
    assert LoginSession.objects.filter(ended_at=None).count() == 0


def test_a_login_gets_a_key_with_its_scopes_and_name(wire: DjangoWire, alice: User) -> None:
    made = log_in(
        URL, alice.email, make.PASSWORD, scopes=["read"], key_name="Night", **options_of(wire)
    )
    key = ApiKey.objects.get()
    assert (key.name, key.scopes) == ("Night", ["read"])
    client = Client(URL, made.key, **options_of(wire))
    with pytest.raises(errors.Forbidden, match="scope") as raised:
        client.algorithms.create(name="A")
    assert raised.value.details["requiredScope"] == "trade"


def test_a_second_factor_is_asked_for(wire: DjangoWire, api: Api, alice: User) -> None:
    client = api(alice)
    client.post("/api/auth/proof", {"password": make.PASSWORD})
    totp = authenticator(client.post("/api/auth/two-factor").json()["uri"])
    client.post("/api/auth/two-factor/confirm", {"code": code_of(totp)})
    with pytest.raises(errors.Unauthorized) as raised:
        log_in(URL, alice.email, make.PASSWORD, **options_of(wire))
    assert raised.value.details["reason"] == "two_factor_required"
    assert log_in(URL, alice.email, make.PASSWORD, code=code_of(totp, 1), **options_of(wire)).key


def test_a_wrong_password_is_refused(wire: DjangoWire, alice: User) -> None:
    with pytest.raises(errors.Unauthorized):
        log_in(URL, alice.email, "not the password", **options_of(wire))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("ALGOTRADE_URL", "ALGOTRADE_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_a_saved_key_is_for_its_user_alone(home: Path, wire: DjangoWire, alice: User) -> None:
    made = log_in(URL, alice.email, make.PASSWORD, **options_of(wire))
    for _ in range(2):  # a second login replaces the first
        path = keys.save_login(URL, made)
    assert path == home / "algotrade" / "login.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["login.json"]
    assert list(Client.saved(**options_of(wire)).algorithms.list()) == []
    path.chmod(0o640)
    with pytest.raises(errors.NotLoggedIn, match="chmod 600"):
        Client.saved()


def test_without_a_login_there_is_no_client(home: Path) -> None:
    with pytest.raises(errors.NotLoggedIn, match="algotrade login"):
        Client.saved()


def test_the_environment_may_have_the_key(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALGOTRADE_URL", URL)
    monkeypatch.setenv("ALGOTRADE_KEY", "atk_of_the_environment")
    assert keys.saved_login() == (URL, "atk_of_the_environment")


# Algorithms.


def test_algorithms_are_described_changed_and_deleted(client: Client) -> None:
    created = client.algorithms.create(name="Crossing", **make.steps())
    assert (created.status, created.missing_fields) == ("stopped", ())
    assert created.steps == make.steps()
    changed = client.algorithms.update(
        created, name="Slower", exitConditions={"squareOffTime": "15:00"}
    )
    assert (changed.name, changed.version) == ("Slower", 2)
    assert client.algorithms.get(created.id).exit_conditions == {"squareOffTime": "15:00"}
    assert [version.version for version in client.algorithms.versions(created)] == [2, 1]
    difference = client.algorithms.changes(created, 2, since=1)
    assert {change.field.partition(".")[0] for change in difference.changes} == {"exitConditions"}
    assert client.algorithms.summary(created).steps[0].is_complete
    copy = client.algorithms.clone(created, name="Copy")
    assert [item.name for item in client.algorithms.list()] == ["Copy", "Slower"]
    client.algorithms.delete(copy)
    assert [item.name for item in client.algorithms.list(status=changed.status)] == ["Slower"]


def test_stored_and_new_steps_are_validated(client: Client) -> None:
    stored = client.algorithms.create()
    assert client.algorithms.validate(stored).missing_fields == tuple(make.steps())
    review = client.algorithms.validate(make.steps(exitConditions={"stopLos": {}}))
    assert not review.valid
    assert review.errors[0].field == "exitConditions.stopLos"
    assert client.algorithms.validate(make.steps()).valid
    assert Algorithm.objects.count() == 1


def test_a_wrong_step_is_refused_with_its_field(client: Client) -> None:
    with pytest.raises(errors.ValidationError, match="stopLoss") as raised:
        client.algorithms.create(exitConditions={"stopLos": {}})
    assert raised.value.field == "exitConditions.stopLos"


def test_templates_and_indicators_are_listed_to_the_end(client: Client) -> None:
    templates = list(client.algorithms.templates())
    assert len(templates) > 30
    assert len({template.id for template in templates}) == len(templates)
    copy = client.algorithms.clone(templates[0])
    assert (copy.cloned_from, copy.steps) == (templates[0].id, templates[0].steps)
    assert len(list(client.algorithms.indicators())) > 100


def test_a_growing_list_is_read_page_by_page(client: Client, alice: User) -> None:
    for _ in range(101):
        make.algorithm(alice)
    assert len({item.id for item in client.algorithms.list()}) == 101


# Backtests.


@pytest.mark.usefixtures("history")
def test_a_backtest_is_run_and_read(client: Client, wire: DjangoWire) -> None:
    algorithm = client.algorithms.create(name="Crossing", **make.steps())
    seen: list[str] = []
    backtest = client.backtests.run(
        algorithm,
        "2024-02-01",
        "2024-02-29",
        name="First",
        initial_capital=500_000,
        progress=lambda now: seen.append(now.status),
    )
    assert (backtest.status, backtest.initial_capital, seen) == (
        "completed",
        500_000,
        ["completed"],
    )
    assert backtest.performance is not None
    trades = list(client.backtests.list_trades(backtest))
    assert len(trades) >= backtest.performance["totalTrades"] > 0
    frame = client.backtests.trades(backtest)
    assert list(frame["profit"]) == [trade.profit for trade in trades]
    equity_frame = client.backtests.equity(backtest)
    assert {"time", "equity", "drawdown"} <= set(equity_frame.columns)
    assert str(equity_frame["time"].dtype).startswith("datetime64")
    at = trades[0].entry_time
    assert client.backtests.explain(backtest, "NSE:NIFTY", at).symbol == "NSE:NIFTY"
    assert client.backtests.share(backtest).url.startswith("http")
    assert client.backtests.receipt(backtest)["receipt"]["engineVersion"] > 0
    assert [item.id for item in client.backtests.list(algorithm=algorithm)] == [backtest.id]


@pytest.mark.usefixtures("history")
def test_evidence_tells_trials_and_verdict(client: Client) -> None:
    algorithm = client.algorithms.create(**make.steps())
    backtest = client.backtests.run(algorithm, "2024-02-01", "2024-02-29")
    evidence = client.backtests.evidence(backtest)
    assert evidence.verdict is not None
    assert evidence.verdict.sentence
    assert evidence.trials == 1
    assert {check.name for check in evidence.checks} >= {"costs", "timing"}


@pytest.mark.usefixtures("history")
def test_two_backtests_are_compared_and_changed(client: Client) -> None:
    algorithm = client.algorithms.create(**make.steps())
    first = client.backtests.run(algorithm, "2024-02-01", "2024-02-29")
    second = client.backtests.run(algorithm, "2024-02-01", "2024-02-29", slippage=0.1)
    comparison = client.backtests.compare(first, second)
    assert comparison.verdict
    assert {metric.name for metric in comparison.metrics} >= {"netProfit"}
    changed = client.backtests.what_if(first, executionSettings={"charges": "none"})
    assert changed.backtest_id == first.id
    client.backtests.delete(second)
    with pytest.raises(errors.BacktestNotFound):
        client.backtests.get(second)


@pytest.mark.usefixtures("history")
def test_a_notebook_shows_the_result_page(client: Client) -> None:
    algorithm = client.algorithms.create(**make.steps())
    queued = client.backtests.submit(algorithm, "2024-02-01", "2024-02-29")
    assert queued._repr_html_() is None
    shown = client.backtests.wait(queued)._repr_html_()
    assert shown is not None
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html')
    assert shown.count('"') == 6


def test_a_backtest_without_history_is_refused(client: Client) -> None:
    algorithm = client.algorithms.create(**make.steps())
    with pytest.raises(errors.InsufficientData):
        client.backtests.run(algorithm, "2024-02-01", "2024-02-29")


@pytest.mark.usefixtures("history")
def test_a_queued_backtest_is_cancelled(client: Client, wire: DjangoWire) -> None:
    algorithm = client.algorithms.create(**make.steps())
    queued = client.backtests.submit(algorithm, "2024-02-01", "2024-02-29")
    assert client.backtests.cancel(queued).status == "cancelled"
    with pytest.raises(errors.BacktestNotCompleted, match="cancelled"):
        client.backtests.wait(queued)


def test_a_repeated_write_is_done_once(client: Client, history: None) -> None:
    created = [client.algorithms.create(idempotency_key="a", **make.steps()) for _ in range(2)]
    assert created[0] == created[1]
    submitted = {
        client.backtests.submit(created[0], "2024-02-01", "2024-02-29", idempotency_key="b").id
        for _ in range(2)
    }
    assert len(submitted) == Backtest.objects.count() == Algorithm.objects.count() == 1


# Paper trading.


def test_a_run_is_started_paused_resumed_and_stopped(client: Client, alice: User) -> None:
    algorithm = algorithm_in(alice, "stopped").pk
    assert client.runs.start(algorithm).active
    assert client.runs.pause(algorithm).status == "paused"
    assert client.runs.resume(algorithm).status == "active"
    assert client.runs.standing(algorithm).status == "active"
    assert [standing.algorithm_id for standing in client.runs.standings()] == [algorithm]
    assert list(client.runs.positions(algorithm, status="open")) == []
    assert list(client.runs.orders(algorithm)) == []
    assert list(client.runs.signals(algorithm)) == []
    assert list(client.runs.list_trades(algorithm)) == []
    assert len(client.runs.trades(algorithm)) == 0
    assert client.runs.drift(algorithm).status in ("waiting", "no_session")
    assert client.runs.stop(algorithm, close_positions=True).status == "stopped"
    with pytest.raises(errors.ApiError):
        client.runs.pause(algorithm)


def test_the_kill_switch_is_engaged(client: Client, alice: User) -> None:
    algorithm_in(alice, "active")
    assert not client.runs.kill_switch().active
    assert client.runs.stop_everything(reason="News", close_positions=False).active


def test_events_are_read_after_a_position(client: Client, alice: User) -> None:
    for _ in range(3):
        emit(alice, type=EventType.TRADE_EXECUTED)
    events = client.events(last=1)
    assert [(next(events).position, next(events).position)] == [(2, 3)]


# Market and webhooks.


def test_instruments_and_candles_are_read(client: Client, history: None) -> None:
    equity("NSE:RELIANCE")
    assert [match.symbol for match in client.market.search("RELI", exchange="NSE")] == [
        "NSE:RELIANCE"
    ]
    assert client.market.instrument("NSE:RELIANCE").tradable
    coverage = client.market.coverage("NSE:NIFTY", timeframe="15m")
    assert coverage.timeframes[0].bars == 500
    assert coverage.quality is not None
    assert [row["symbol"] for row in client.market.series()] == ["NSE:NIFTY"]
    frame = client.market.candles("NSE:NIFTY", "15m", start="2024-02-01", end="2024-02-02")
    csv = client.market.candles_csv("NSE:NIFTY", "15m", start="2024-02-01", end="2024-02-02")
    assert len(frame) == len(csv.splitlines()) - 1 == 50


def test_an_operator_checks_and_loads_a_file(client: Client, alice: User, tmp_path: Path) -> None:
    equity("NSE:TATASTEEL")
    file = tmp_path / "TATASTEEL_15m.csv"
    lines = [
        f"2024-02-01T{9 + i // 4:02}:{15 * (i % 4):02}:00+05:30,9,10,8,9,5" for i in range(1, 9)
    ]
    file.write_text("\n".join(["date,open,high,low,close,volume", *lines]))
    options: dict[str, Any] = {"symbol": "NSE:TATASTEEL", "timeframe": "15m"}
    with pytest.raises(errors.Forbidden):
        client.market.load(file, **options)
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    assert not client.market.load(file, is_check=True, **options).stored
    loaded = client.market.load(file, **options)
    assert (loaded.stored, loaded.added) == (True, 8)


def test_alert_hooks_are_managed_and_what_came_is_listed(client: Client) -> None:
    made = client.alerts.create_hook("Breakouts", "json", expected_by="15:00")
    assert (made.expected_by, made.networks) == ("15:00", ())
    assert made.url not in repr(made)
    assert client.alerts.rotate_secret(made).url != made.url
    assert [hook.id for hook in client.alerts.hooks()] == [made.id]
    alert = alert_in(AlertHook.objects.get(), "Breakout", "NSE:TCS")
    message_to(AlertHook.objects.get(), refusal="The body is not JSON.")
    assert [row.id for row in client.alerts.list(name="Breakout", hook=made)] == [alert.pk]
    assert list(client.alerts.list(symbol="NSE:INFY")) == []
    refused, read = sorted(client.alerts.messages(made), key=lambda message: not message.refusal)
    assert (refused.refusal, refused.alerts) == ("The body is not JSON.", ())
    assert [row.symbol for row in read.alerts] == ["NSE:TCS"]
    client.alerts.delete_hook(made)
    assert list(client.alerts.hooks()) == []


def test_webhooks_are_registered_and_tested(client: Client) -> None:
    made = client.webhooks.create("https://hooks.example.com/x", ["trade.executed"])
    assert made.secret is not None
    assert made.secret not in repr(made)
    assert [webhook.id for webhook in client.webhooks.list()] == [made.id]
    assert client.webhooks.test(made).type == "webhook.test"
    assert len(list(client.webhooks.deliveries(made))) == 1
    client.webhooks.delete(made)
    assert list(client.webhooks.list()) == []
