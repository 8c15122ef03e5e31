"""Actions of operators and admins on accounts, by the admin's pages."""

import pytest
from django.test import Client
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.accounts.credentials.api_keys import KeyScope
from apps.accounts.login import services, tokens
from apps.accounts.login.services import DEACTIVATE_JOB
from apps.accounts.models import ApiKey, LoginSession, SessionEndReason, User
from apps.core.models import AuditRecord
from apps.trading.models import KillSwitch
from apps.trading.tasks import stop_trading_of
from apps.webhooks.event_types import EventType
from apps.webhooks.models import Delivery, Event
from tests import make
from tests.trading.algorithm_states import algorithm_in
from tests.webhooks.events import endpoint_of

USERS = "/admin/accounts/user/"
NEW = {"usable_password": "true", "password1": "set by hand 1", "password2": "set by hand 1"}


def opened(user: User) -> LoginSession:
    return tokens.issue(user=user, now=timezone.now(), address=None, user_agent="").session


def new_key(user: User) -> tuple[ApiKey, str]:
    return services.create_key(
        user=user, name="Runner", scopes=[KeyScope.READ], expires_at=None, now=timezone.now()
    )


def signed_in(user: User, **flags: bool) -> Client:
    User.objects.filter(pk=user.pk).update(**flags)
    client = Client()
    assert client.login(email=user.email.upper(), password=make.PASSWORD)
    return client


@pytest.fixture
def operator(db: None) -> Client:
    return signed_in(make.user("olga"), is_staff=True)


@pytest.fixture
def admin(db: None) -> Client:
    return signed_in(make.user("ada"), is_staff=True, is_superuser=True)


def form_of(user: User, **ticked: bool) -> dict[str, str]:
    flags = {"is_active": user.is_active, "email_verified": user.email_verified} | ticked
    return {"name": user.name} | {name: "on" for name, on in flags.items() if on}


def test_users_have_no_way_in(alice: User) -> None:
    client = signed_in(alice)
    response = client.get(USERS)
    assert response.status_code == 302
    assert response["Location"].startswith("/admin/login/")


@pytest.mark.django_db
def test_a_browser_can_sign_in() -> None:
    """With `no-referrer` a browser sends a form with `Origin: null`, and Django refuses that."""
    ada = make.user("ada")
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    browser = Client(enforce_csrf_checks=True)
    page = browser.get("/admin/login/")
    origin = "null" if page["Referrer-Policy"] == "no-referrer" else "http://testserver"
    form = {
        "username": ada.email,
        "password": make.PASSWORD,
        "csrfmiddlewaretoken": browser.cookies["csrftoken"].value,
    }
    response = browser.post("/admin/login/?next=/admin/", form, headers={"origin": origin})
    assert (response.status_code, response["Location"]) == (302, "/admin/")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "leads_to"),
    [
        ("/admin/login/", "/admin/"),
        ("/admin/login/?next=/admin/accounts/user/", "/admin/accounts/user/"),
        ("/admin/login/?next=https://evil.example/", "/admin/"),
        ("/admin/login/?next=//evil.example/", "/admin/"),
        ("/admin/login/?next=javascript:alert(1)", "/admin/"),
    ],
)
def test_a_login_leads_to_pages_of_the_service_alone(address: str, leads_to: str) -> None:
    ada = make.user("ada")
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    form = {"username": ada.email, "password": make.PASSWORD}
    assert Client().post(address, form)["Location"] == leads_to


@pytest.mark.django_db
def test_a_web_application_of_another_origin_sends_no_form() -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.get("/admin/login/")
    form = {"csrfmiddlewaretoken": browser.cookies["csrftoken"].value}
    headers = {"origin": "http://localhost:3000"}
    assert browser.post("/admin/login/", form, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "path", ["", "accounts/", "accounts/user/", "accounts/loginsession/", "accounts/apikey/"]
)
def test_an_operator_sees_the_pages(operator: Client, alice: User, path: str) -> None:
    opened(alice)
    new_key(alice)
    assert operator.get(f"/admin/{path}").status_code == 200


def test_an_operator_marks_an_address_verified(operator: Client, alice: User) -> None:
    path = f"{USERS}{alice.pk}/change/"
    assert operator.get(path).status_code == 200
    assert operator.post(path, form_of(alice, email_verified=True)).status_code == 302
    alice.refresh_from_db()
    assert alice.email_verified
    assert alice.check_password(make.PASSWORD)


def test_switching_a_user_off_ends_sessions_and_keys(operator: Client, alice: User) -> None:
    session, (key, _) = opened(alice), new_key(alice)
    operator.post(f"{USERS}{alice.pk}/change/", form_of(alice, is_active=False))
    session.refresh_from_db()
    key.refresh_from_db()
    assert session.end_reason == SessionEndReason.OPERATOR
    assert key.revoked_at is not None


def test_deactivating_a_user_stops_their_trading_and_events(
    operator: Client, alice: User, bob: User
) -> None:
    paused, untouched = algorithm_in(alice, "active"), algorithm_in(bob, "active")
    endpoint_of(alice, events=[EventType.ALGORITHM_PAUSED])
    operator.post(f"{USERS}{alice.pk}/change/", form_of(alice, is_active=False))
    job = ProcrastinateJob.objects.get(task_name=DEACTIVATE_JOB)
    stop_trading_of(**job.args)
    paused.refresh_from_db()
    untouched.refresh_from_db()
    assert (paused.status, untouched.status) == ("paused", "active")
    change = paused.status_changes.latest("id")
    assert (change.after, change.actor) == ("paused", "system")
    assert KillSwitch.objects.get(owner=alice).reason == "The account was switched off."
    record = AuditRecord.objects.get(action="kill_switch_on")
    assert (record.actor_kind, record.actor) == ("operator", User.objects.get(is_staff=True).pk)
    events = Event.objects.filter(type="algorithm.paused", owner=alice)
    assert events.count() == 1
    assert not Delivery.objects.filter(event__in=events).exists()


def test_a_password_set_by_an_operator_ends_all_sessions(operator: Client, alice: User) -> None:
    session = opened(alice)
    assert operator.post(f"{USERS}{alice.pk}/password/", NEW).status_code == 302
    alice.refresh_from_db()
    session.refresh_from_db()
    assert alice.check_password("set by hand 1")
    assert session.end_reason == SessionEndReason.OPERATOR


def test_a_short_password_is_refused_here_too(operator: Client, alice: User) -> None:
    short = NEW | {"password1": "short", "password2": "short"}
    assert operator.post(f"{USERS}{alice.pk}/password/", short).status_code == 200
    alice.refresh_from_db()
    assert alice.check_password(make.PASSWORD)


def test_an_operator_cannot_make_operators(operator: Client, alice: User) -> None:
    powers = {"is_staff": True, "is_superuser": True}
    operator.post(f"{USERS}{alice.pk}/change/", form_of(alice, **powers))
    alice.refresh_from_db()
    assert alice.role == "user"


def test_an_operator_cannot_change_an_admin(operator: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True)
    assert operator.post(f"{USERS}{alice.pk}/change/", form_of(alice)).status_code == 403
    assert operator.post(f"{USERS}{alice.pk}/password/", NEW).status_code == 403
    alice.refresh_from_db()
    assert alice.check_password(make.PASSWORD)


def test_an_admin_makes_operators(admin: Client, alice: User) -> None:
    admin.post(f"{USERS}{alice.pk}/change/", form_of(alice, is_staff=True))
    alice.refresh_from_db()
    assert alice.role == "operator"


def test_sessions_are_ended_from_their_list(operator: Client, alice: User) -> None:
    ended, left = opened(alice), opened(alice)
    body = {"action": "end", "_selected_action": [ended.pk]}
    operator.post("/admin/accounts/loginsession/", body)
    ended.refresh_from_db()
    left.refresh_from_db()
    assert ended.end_reason == SessionEndReason.OPERATOR
    assert left.ended_at is None


@pytest.mark.parametrize("verb", ["change", "delete"])
def test_sessions_cannot_be_edited(admin: Client, alice: User, verb: str) -> None:
    session = opened(alice)
    path = f"/admin/accounts/loginsession/{session.pk}/{verb}/"
    assert admin.post(path, {"post": "yes"}).status_code == 403
    assert LoginSession.objects.filter(pk=session.pk, ended_at=None).exists()


def test_keys_are_revoked_from_their_list(operator: Client, alice: User) -> None:
    (revoked, _), (left, _) = new_key(alice), new_key(alice)
    body = {"action": "revoke", "_selected_action": [revoked.pk]}
    operator.post("/admin/accounts/apikey/", body)
    revoked.refresh_from_db()
    left.refresh_from_db()
    assert revoked.revoked_at is not None
    assert left.revoked_at is None


def test_no_page_shows_the_identifier_of_a_key_or_token(operator: Client, alice: User) -> None:
    session, (key, text) = opened(alice), new_key(alice)
    for path in (f"apikey/{key.pk}/change/", "apikey/", f"loginsession/{session.pk}/change/"):
        page = operator.get(f"/admin/accounts/{path}")
        assert page.status_code == 200
        assert not {
            secret
            for secret in (text, key.digest, session.token_id)
            if secret in page.content.decode()
        }
    assert key.last_four in operator.get("/admin/accounts/apikey/").content.decode()


@pytest.mark.parametrize("path", ["add/", "{}/delete/"])
def test_accounts_are_neither_made_nor_deleted_here(admin: Client, alice: User, path: str) -> None:
    assert admin.post(USERS + path.format(alice.pk), {"post": "yes"}).status_code == 403
