"""Every change that a user makes over HTTP is audited once, with the credential that proves the
user.
"""

from base64 import b64encode
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from django.utils import timezone

from apps.accounts.login import two_factor
from apps.accounts.models import ApiKey, LoginSession, SecondFactor, User
from apps.algorithms.models import Algorithm
from apps.backtests.models import Backtest, BacktestStatus, ReportLink
from apps.core.api.resources.upload_fields import UploadSerializer
from apps.core.audit import Action
from apps.core.models import AuditRecord
from apps.core.times import wire_time
from apps.market.serializers.uploads import CandleFileSerializer, MasterSerializer
from apps.trading import services as trading
from apps.webhooks import services as webhooks
from tests import make
from tests.accounts.authenticator import authenticator, code_of
from tests.alerts.hooks import hook_of
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.conftest import Api
from tests.contract.test_routes import routes
from tests.market.bars import store_candles
from tests.symbols import master_files
from tests.trading.algorithm_states import add_order, algorithm_in
from tests.trading.algorithm_states import hold as hold_position
from tests.webhooks.events import endpoint_of

READS = {"get", "head"}
CHANGES_NOTHING = {
    "/api/auth/refresh-token",
    # On record when the job finds the account: no answer tells whether there is one.
    "/api/auth/password-reset",
    "/api/symbols/validate",
    "/api/trading/algorithms/validate",
    "/api/trading/algorithms/{}/validate",
    # Alerts are a record themselves.
    "/hooks/{}",
}


# Each session that they end is on record too.
ENDS_SESSIONS = {Action.PASSWORD_CHANGED, Action.ACCOUNT_CLOSED}


class Change(NamedTuple):
    """A successful call, and its audited action.

    `{}` in the path is the id of the resource, and a second one the id of its part, both from
    `thing`.
    """

    method: str
    path: str
    action: Action
    body: dict[str, Any]
    prepare: Callable[[User], str] = lambda user: ""


def algorithm(user: User) -> str:
    return str(make.algorithm(user, **make.steps()).pk)


def stopped(user: User) -> str:
    return str(algorithm_in(user, "stopped").pk)


def active(user: User) -> str:
    return str(algorithm_in(user, "active").pk)


def paused(user: User) -> str:
    return str(algorithm_in(user, "paused").pk)


def operator(user: User) -> str:
    User.objects.filter(pk=user.pk).update(is_staff=True)
    return ""


def holding(user: User) -> str:
    algorithm = algorithm_in(user, "active")
    hold_position(algorithm.runs.get(), "NSE:TCS")
    return str(algorithm.pk)


def waiting_order(user: User) -> str:
    return str(add_order(algorithm_in(user, "active").runs.get()).pk)


def switched_on(user: User) -> str:
    trading.engage_kill_switch(owner=user, reason="", close_positions=False, now=make.NOW)
    return ""


def proved(user: User) -> str:
    """Prove the session's user by the password once more."""
    user.sessions.update(proved_at=timezone.now())
    return ""


def alert_hook(user: User) -> str:
    return str(hook_of(user).pk)


def backtest(user: User) -> str:
    return str(submit(user).pk)


def ended_backtest(user: User) -> str:
    made = submit(user)
    Backtest.objects.filter(pk=made.pk).update(status=BacktestStatus.CANCELLED)
    return str(made.pk)


def completed_backtest(user: User) -> str:
    made = submit(user)
    Backtest.objects.filter(pk=made.pk).update(status=BacktestStatus.COMPLETED, performance={})
    return str(made.pk)


def report_link(user: User) -> str:
    backtest = completed_backtest(user)
    link = ReportLink.objects.create(
        backtest_id=backtest, expires_at=timezone.now() + timedelta(hours=1)
    )
    return f"{backtest} {link.pk}"


def session(user: User) -> str:
    return str(LoginSession.objects.filter(user=user).latest("created_at").pk)


def key(user: User) -> str:
    row = ApiKey(user=user, name="robot", scopes=["read"], digest="d", created_at=make.NOW)
    row.save()
    return str(row.pk)


def webhook(user: User) -> str:
    return str(endpoint_of(user).pk)


def telegram(user: User) -> str:
    endpoint, _ = webhooks.create(
        owner=user,
        kind="telegram",
        token=f"123456:{'a' * 35}",
        events=["algorithm.error"],
        now=make.NOW,
    )
    return str(endpoint.pk)


def delivery(user: User) -> str:
    return str(webhooks.test(owner=user, endpoint_id=webhook(user), now=make.NOW).pk)


def pending_factor(user: User) -> str:
    two_factor.begin_two_factor(user=user, now=timezone.now())
    return ""


def factor(user: User) -> str:
    pending_factor(user)
    SecondFactor.objects.update(confirmed_at=timezone.now())
    return ""


def checked(serializer: type[UploadSerializer], body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a checked file, for storing it."""
    return {**body, "checked": serializer.read(body)["upload"].fingerprint}


PROOF = {"password": make.PASSWORD}
ADDRESS = {"email": "new@example.com"}
LOGIN = {"email": "alice@example.com", "password": make.PASSWORD}
SIGNUP = LOGIN | {"email": "new@example.com", "name": "New"}
NAME = {"name": "New"}
PASSWORDS = {"currentPassword": make.PASSWORD, "newPassword": "another long one"}
KEY = {"name": "robot", "scopes": ["read"]}
ALERTS = {"alerts": {"winRate": {"threshold": 40, "action": "send_notification"}}}
CANDLES = {
    "symbol": "NSE:NIFTY",
    "timeframe": "1d",
    "candles": [["2024-06-03", 100, 101, 99, 100, 5]],
}
MASTER = {"name": "list.csv", "content": b64encode(master_files.KITE.encode()).decode()}
CANDLE_FILE = {
    "name": "days.csv",
    "symbol": "NSE:NIFTY",
    "timeframe": "1d",
    "content": b64encode(b"date,open,high,low,close\n2024-06-03,100,101,99,100\n").decode(),
}
MONTH = {"startDate": "2024-02-01", "endDate": "2024-02-29"}

WEBHOOK = {"url": "https://hooks.example.com/", "events": ["algorithm.error"]}
STORED_CHANGE = {"riskParameters": {"maxOpenPositions": 2}, "store": True}
NOTICES = {"events": ["performance.alert"]}
ALERT_HOOK = {"name": "Breakouts", "format": "chartink", "expectedBy": "15:00"}
SINCE = {"since": wire_time(timezone.now())}

CHANGES = [
    Change("post", "/api/auth/signup", Action.SIGNUP, SIGNUP),
    Change("post", "/api/auth/login", Action.LOGIN, LOGIN),
    Change("post", "/api/auth/logout", Action.LOGOUT, {}),
    Change("patch", "/api/auth/profile", Action.PROFILE_CHANGED, {"name": "Alicia"}),
    Change("post", "/api/auth/password", Action.PASSWORD_CHANGED, PASSWORDS),
    Change("delete", "/api/auth/sessions", Action.SESSION_ENDED, {}),
    Change("delete", "/api/auth/sessions/{}", Action.SESSION_ENDED, {}, session),
    Change("post", "/api/auth/keys", Action.KEY_CREATED, KEY),
    Change("delete", "/api/auth/keys/{}", Action.KEY_REVOKED, {}, key),
    Change("delete", "/api/auth/profile", Action.ACCOUNT_CLOSED, {}),
    Change("post", "/api/auth/proof", Action.IDENTITY_PROVED, PROOF),
    Change("post", "/api/auth/verification", Action.VERIFICATION_REQUESTED, {}),
    Change("post", "/api/auth/email", Action.ADDRESS_CHANGE_REQUESTED, ADDRESS),
    Change("post", "/api/auth/export", Action.DATA_EXPORTED, {}),
    Change("post", "/api/auth/two-factor", Action.SECOND_FACTOR_BEGUN, {}, proved),
    Change("post", "/api/auth/two-factor/confirm", Action.SECOND_FACTOR_ON, {}, pending_factor),
    Change(
        "post", "/api/auth/two-factor/recovery-codes", Action.RECOVERY_CODES_RENEWED, {}, factor
    ),
    Change("delete", "/api/auth/two-factor", Action.SECOND_FACTOR_OFF, {}, factor),
    Change("post", "/api/trading/algorithms", Action.ALGORITHM_CREATED, {}),
    Change("put", "/api/trading/algorithms/{}", Action.ALGORITHM_UPDATED, NAME, algorithm),
    Change("patch", "/api/trading/algorithms/{}", Action.ALGORITHM_UPDATED, NAME, algorithm),
    Change("delete", "/api/trading/algorithms/{}", Action.ALGORITHM_ARCHIVED, {}, algorithm),
    Change("post", "/api/trading/algorithms/{}/clone", Action.ALGORITHM_CLONED, {}, algorithm),
    Change(
        "put", "/api/algorithms/{}/performance/alerts", Action.ALGORITHM_UPDATED, ALERTS, algorithm
    ),
    Change("post", "/api/trading/algorithms/{}/start", Action.ALGORITHM_STARTED, {}, stopped),
    Change("post", "/api/trading/algorithms/{}/stop", Action.ALGORITHM_STOPPED, {}, active),
    Change("post", "/api/trading/algorithms/{}/pause", Action.ALGORITHM_PAUSED, {}, active),
    Change("post", "/api/trading/algorithms/{}/resume", Action.ALGORITHM_RESUMED, {}, paused),
    Change(
        "post",
        "/api/trading/algorithms/{}/positions/NSE:TCS/close",
        Action.POSITION_CLOSE_ASKED,
        {},
        holding,
    ),
    Change("post", "/api/trading/orders/{}/cancel", Action.ORDER_CANCEL_ASKED, {}, waiting_order),
    Change("post", "/api/trading/account/reset", Action.ACCOUNT_RESET, {}),
    Change("post", "/api/trading/kill-switch", Action.KILL_SWITCH_ON, {}),
    Change("delete", "/api/trading/kill-switch", Action.KILL_SWITCH_OFF, {}, switched_on),
    Change("post", "/api/trading/alert-hooks", Action.ALERT_HOOK_CREATED, ALERT_HOOK),
    Change(
        "patch", "/api/trading/alert-hooks/{}", Action.ALERT_HOOK_CHANGED, ALERT_HOOK, alert_hook
    ),
    Change("delete", "/api/trading/alert-hooks/{}", Action.ALERT_HOOK_ENDED, {}, alert_hook),
    Change(
        "post",
        "/api/trading/alert-hooks/{}/rotate-secret",
        Action.ALERT_HOOK_SECRET_ROTATED,
        {},
        alert_hook,
    ),
    Change("post", "/api/market/candles", Action.CANDLES_RECEIVED, CANDLES, operator),
    Change(
        "post",
        "/api/market/candle-files",
        Action.CANDLE_FILE_LOADED,
        checked(CandleFileSerializer, CANDLE_FILE),
        operator,
    ),
    Change(
        "post",
        "/api/market/masters",
        Action.MASTER_LOADED,
        checked(MasterSerializer, MASTER),
        operator,
    ),
    Change("post", "/api/backtests", Action.BACKTEST_SUBMITTED, MONTH, algorithm),
    Change("patch", "/api/backtests/{}", Action.BACKTEST_RENAMED, NAME, ended_backtest),
    Change("patch", "/api/backtests/{}", Action.BACKTEST_KEPT, {"kept": True}, ended_backtest),
    Change("delete", "/api/backtests/{}", Action.BACKTEST_DELETED, {}, ended_backtest),
    Change("post", "/api/backtests/{}/cancel", Action.BACKTEST_CANCELLED, {}, backtest),
    Change(
        "post", "/api/backtests/{}/reproduce", Action.BACKTEST_SUBMITTED, {}, completed_backtest
    ),
    Change(
        "post",
        "/api/backtests/{}/what-if",
        Action.BACKTEST_SUBMITTED,
        STORED_CHANGE,
        completed_backtest,
    ),
    Change("post", "/api/backtests/{}/report-link", Action.REPORT_SHARED, {}, completed_backtest),
    Change(
        "delete", "/api/backtests/{}/report-links/{}", Action.REPORT_LINK_RECALLED, {}, report_link
    ),
    Change("post", "/api/webhooks", Action.WEBHOOK_CREATED, WEBHOOK),
    Change("put", "/api/webhooks/email", Action.NOTICES_CHANGED, NOTICES),
    Change("patch", "/api/webhooks/{}", Action.WEBHOOK_CHANGED, WEBHOOK, webhook),
    Change("delete", "/api/webhooks/{}", Action.WEBHOOK_DELETED, {}, webhook),
    Change("post", "/api/webhooks/{}/rotate-secret", Action.WEBHOOK_SECRET_ROTATED, {}, webhook),
    Change("post", "/api/webhooks/{}/link", Action.WEBHOOK_CHANGED, {}, telegram),
    Change("post", "/api/webhooks/{}/test", Action.WEBHOOK_TESTED, {}, webhook),
    Change("post", "/api/webhooks/{}/recover", Action.WEBHOOK_RECOVERED, SINCE, webhook),
    Change(
        "post", "/api/webhooks/deliveries/{}/redeliver", Action.WEBHOOK_REDELIVERED, {}, delivery
    ),
]


@pytest.fixture(autouse=True, scope="module")
def history(kept: None) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.method} {change.path}")
def test_a_change_is_on_record_once(api: Api, alice: User, change: Change) -> None:
    client = api(alice)
    current = session(alice)
    ids = change.prepare(alice)
    body = change.body | ({"algorithmId": ids} if change.path == "/api/backtests" else {})
    if change.action is Action.SECOND_FACTOR_ON:
        body = {"code": code_of(authenticator(two_factor.pending_uri(alice)))}
    before = AuditRecord.objects.count()
    answer = getattr(client, change.method)(change.path.format(*ids.split()), body)
    assert answer.status_code < 300, answer.content
    records = list(AuditRecord.objects.order_by("id")[before:])
    if change.action in ENDS_SESSIONS:
        records = [record for record in records if record.action != Action.SESSION_ENDED]
    (record,) = records
    assert (record.action, record.actor_kind) == (change.action, "user")
    assert record.address == "127.0.0.1"
    assert record.request_id == answer["X-Request-ID"]
    assert record.session_id == current
    if change.action is not Action.SIGNUP:
        assert record.actor == alice.pk
    makes_another = (
        change.path.endswith(("/clone", "/reproduce", "/what-if")) or "algorithmId" in body
    )
    if ids and not makes_another:
        assert record.object_id == ids.split()[0]


def test_every_writing_route_is_listed_here() -> None:
    covered = {(change.method, change.path.format("0" * 24, "0" * 24)) for change in CHANGES}
    silent = {path.format("0" * 24) for path in CHANGES_NOTHING}
    changing = {(m, path) for m, path in routes() if m not in READS and path not in silent}
    assert changing == covered


def test_no_secret_is_on_record(api: Api, alice: User) -> None:
    for change in CHANGES[:8]:
        getattr(api(alice), change.method)(
            change.path.format(*change.prepare(alice).split()), change.body
        )
    api().post("/api/auth/login", LOGIN | {"password": "a wrong password"})
    kept = " ".join(map(str, AuditRecord.objects.values_list("details", flat=True)))
    assert "robot" in kept
    for secret in (make.PASSWORD, "another long one", "a wrong password", "atk_", "eyJ"):
        assert secret not in kept


def test_a_refused_login_is_on_record_without_its_input(api: Api, alice: User) -> None:
    for email in (alice.email, "my secret password"):
        api().post("/api/auth/login", {"email": email, "password": "a wrong password"})
    known, unknown = AuditRecord.objects.order_by("id")
    assert (known.action, known.actor, known.object_id) == (Action.LOGIN_FAILED, "", alice.pk)
    assert (unknown.action, unknown.object_id, unknown.details) == (Action.LOGIN_FAILED, "", {})


def test_a_refused_change_is_not_on_record(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice).pk
    before = AuditRecord.objects.count()
    answer = api(alice).put(f"/api/trading/algorithms/{algorithm}", {"name": 7})
    assert answer.status_code == 400
    assert AuditRecord.objects.count() == before


def test_a_request_that_is_sent_twice_is_on_record_once(api: Api, alice: User) -> None:
    client = api(alice)
    before = AuditRecord.objects.count()
    for _ in range(2):
        answer = client.post("/api/trading/algorithms", {}, headers={"Idempotency-Key": "k"})
        assert answer.status_code == 201
    assert Algorithm.objects.count() == 1
    assert AuditRecord.objects.count() == before + 1


def test_a_key_that_acts_is_named(api: Api, alice: User) -> None:
    made = api(alice).post("/api/auth/keys", {"name": "robot", "scopes": ["read", "trade"]}).json()
    client = api()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {made['key']}")
    assert client.post("/api/trading/algorithms", {}).status_code == 201
    assert AuditRecord.objects.latest("id").session_id == made["id"]
