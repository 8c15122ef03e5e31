"""Signing in to the console and out of it."""

from datetime import timedelta
from unittest.mock import patch

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from apps.accounts.login import two_factor
from apps.accounts.models import User
from tests import make
from tests.console.conftest import Browse

NEW = {"name": "Asha", "email": "asha@example.com", "password": "a long and good password"}


@pytest.fixture
def stranger(db: None) -> Client:
    return Client(raise_request_exception=False)


def test_a_stranger_is_led_to_the_way_in_and_back(stranger: Client, alice: User) -> None:
    answer = stranger.get("/app?page=2")
    assert answer["Location"] == "/app/sign-in?next=%2Fapp%3Fpage%3D2"
    form = {"email": alice.email, "password": make.PASSWORD, "next": "/app?page=2"}
    assert stranger.post("/app/sign-in", form)["Location"] == "/app?page=2"


@pytest.mark.parametrize("wanted", ["https://elsewhere.example/app", "//elsewhere.example", "/x"])
def test_the_way_in_leads_to_the_console_alone(stranger: Client, alice: User, wanted: str) -> None:
    form = {"email": alice.email, "password": make.PASSWORD, "next": wanted}
    assert stranger.post("/app/sign-in", form)["Location"] == "/app"


def test_a_new_trader_signs_up_and_is_in(stranger: Client) -> None:
    answer = stranger.post("/app/sign-up", NEW, follow=True)
    assert answer.redirect_chain == [("/app", 302)]
    assert b"Asha" in answer.content


def test_errors_are_shown_beside_their_fields(stranger: Client, alice: User) -> None:
    answer = stranger.post("/app/sign-up", {**NEW, "password": "short", "email": "x"})
    assert answer.status_code == 400
    assert b'id="password-problem"' in answer.content
    assert b'id="email-problem"' in answer.content
    assert b"short" not in answer.content
    taken = stranger.post("/app/sign-up", {**NEW, "email": alice.email})
    assert taken.status_code == 409
    assert b"exists already" in taken.content


def test_a_common_password_gets_a_warning_beside_its_field_and_is_accepted_on_request(
    stranger: Client,
) -> None:
    form = {**NEW, "password": "password"}
    asked = stranger.post("/app/sign-up", form)
    assert b"1,000 most common" in asked.content
    assert b'name="useCommon"' in asked.content
    assert not User.objects.exists()
    assert stranger.post("/app/sign-up", {**form, "useCommon": "on"}).status_code == 302
    assert User.objects.get().email == NEW["email"]


# The device cookie


@pytest.fixture
def few_guesses(settings: Settings) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "auth": "1000/15m", "failures": "3/15m"}


def guess_from_everywhere(email: str) -> None:
    """Let a stranger use up the wrong guesses of the account, even from the browser's network."""
    for number in range(5):
        for address in (f"198.51.{number}.1", "127.0.0.9"):
            form = {"email": email, "password": "wrong password"}
            Client(REMOTE_ADDR=address).post("/app/sign-in", form)


def test_the_device_cookie_is_for_the_pages_of_the_console_alone(
    browse: Browse, alice: User
) -> None:
    cookie = browse(alice).cookies["device"]
    assert cookie["path"] == "/app"
    assert (cookie["samesite"], cookie["httponly"], cookie["secure"]) == ("Strict", True, True)
    answer = Client().post(
        "/api/auth/login",
        {"email": alice.email, "password": make.PASSWORD, "sessionCookie": True},
        content_type="application/json",
    )
    assert set(answer.cookies) == {"refreshToken", "sessionid", "csrftoken"}


@pytest.mark.usefixtures("few_guesses")
def test_guesses_of_strangers_do_not_shut_a_known_browser_out(browse: Browse, alice: User) -> None:
    client = browse(alice)
    client.post("/app/sign-out")
    guess_from_everywhere(alice.email)
    form = {"email": alice.email, "password": make.PASSWORD}
    assert Client().post("/app/sign-in", form).status_code == 429
    assert client.post("/app/sign-in", form).status_code == 302


@pytest.mark.usefixtures("few_guesses")
def test_a_known_browser_has_wrong_guesses_of_its_own(browse: Browse, alice: User) -> None:
    client = browse(alice)
    client.post("/app/sign-out")
    form = {"email": alice.email, "password": "wrong password"}
    statuses = [client.post("/app/sign-in", form).status_code for _ in range(4)]
    assert statuses == [401, 401, 401, 429]


@pytest.mark.usefixtures("few_guesses")
def test_a_device_cookie_is_void_for_another_account(
    browse: Browse, alice: User, bob: User
) -> None:
    client = browse(alice)
    client.post("/app/sign-out")
    guess_from_everywhere(bob.email)
    form = {"email": bob.email, "password": make.PASSWORD}
    assert client.post("/app/sign-in", form).status_code == 429


@pytest.mark.usefixtures("few_guesses")
def test_a_device_cookie_dies_with_the_password(browse: Browse, alice: User) -> None:
    client = browse(alice)
    client.post("/app/sign-out")
    alice.set_password("another password")
    alice.save()
    guess_from_everywhere(alice.email)
    form = {"email": alice.email, "password": "another password"}
    assert client.post("/app/sign-in", form).status_code == 429


@pytest.mark.usefixtures("few_guesses")
def test_a_damaged_device_cookie_is_ignored(browse: Browse, alice: User) -> None:
    client = browse(alice)
    client.post("/app/sign-out")
    client.cookies["device"] = client.cookies["device"].value[:-1]
    guess_from_everywhere(alice.email)
    form = {"email": alice.email, "password": make.PASSWORD}
    assert client.post("/app/sign-in", form).status_code == 429


def test_five_attempts_an_address_hold_for_a_known_browser_too(
    browse: Browse, alice: User, settings: Settings
) -> None:
    client = browse(alice)
    client.post("/app/sign-out")
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "auth": "5/15m", "failures": "20/15m"}
    form = {"email": alice.email, "password": "wrong password"}
    statuses = [client.post("/app/sign-in", form).status_code for _ in range(6)]
    assert statuses == [401] * 5 + [429]


# The end of a session


def test_a_session_of_the_console_ends_after_twelve_hours_without_a_request(
    browse: Browse, alice: User
) -> None:
    client = browse(alice)
    with patch("apps.core.database.now", lambda: timezone.now() + timedelta(hours=11)):
        assert client.get("/app").status_code == 200
    with patch("apps.core.database.now", lambda: timezone.now() + timedelta(hours=22)):
        assert client.get("/app").status_code == 200
    with patch("apps.core.database.now", lambda: timezone.now() + timedelta(hours=35)):
        assert client.get("/app").status_code == 302


def test_a_session_of_the_console_lasts_seven_days_at_most(browse: Browse, alice: User) -> None:
    client = browse(alice)
    for hours in range(11, 7 * 24, 11):
        with patch(
            "apps.core.database.now",
            lambda hours=hours: timezone.now() + timedelta(hours=hours),
        ):
            assert client.get("/app").status_code == 200
    with patch("apps.core.database.now", lambda: timezone.now() + timedelta(hours=169)):
        assert client.get("/app").status_code == 302


def test_a_wrong_password_is_refused(stranger: Client, alice: User) -> None:
    answer = stranger.post("/app/sign-in", {"email": alice.email, "password": "wrong"})
    assert answer.status_code == 401
    assert b"is wrong" in answer.content
    assert stranger.get("/app").status_code == 302


def test_a_login_page_asks_for_the_second_factor(
    stranger: Client, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two_factor, "has_two_factor", lambda user: True)
    monkeypatch.setattr(two_factor, "take_code", lambda user, code, now: code == "123456")
    form = {"email": alice.email, "password": make.PASSWORD}
    asked = stranger.post("/app/sign-in", form, headers={"HX-Request": "true"})
    assert b'name="code"' in asked.content
    assert stranger.post("/app/sign-in", {**form, "code": "000000"}).status_code == 401
    assert stranger.post("/app/sign-in", {**form, "code": "123456"}).status_code == 302


def test_signing_out_ends_the_session(browse: Browse, alice: User) -> None:
    client = browse(alice)
    assert client.get("/app").status_code == 200
    client.post("/app/sign-out")
    assert client.get("/app").status_code == 302
    assert not alice.sessions.filter(ended_at=None).exists()


def test_a_form_needs_its_token(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    form = {"email": alice.email, "password": make.PASSWORD}
    assert client.post("/app/sign-in", form).status_code == 403


@pytest.mark.parametrize(
    ("origin", "status"),
    [("http://testserver", 302), ("http://localhost:3000", 403), ("http://localhost:5173", 403)],
)
def test_no_other_origin_sends_a_form(alice: User, origin: str, status: int) -> None:
    client = Client(enforce_csrf_checks=True)
    client.get("/app/sign-in")
    form = {
        "email": alice.email,
        "password": make.PASSWORD,
        "csrfmiddlewaretoken": client.cookies["csrftoken"].value,
    }
    assert client.post("/app/sign-in", form, headers={"Origin": origin}).status_code == status


def test_an_unknown_page_and_a_wrong_method_are_pages(browse: Browse, alice: User) -> None:
    client = browse(alice)
    answer = client.get("/app/nothing")
    assert (answer.status_code, answer["Content-Type"][:9]) == (404, "text/html")
    part = client.get("/app/nothing", headers={"HX-Request": "true"})
    assert part["HX-Retarget"] == "#notices"
    assert b"<html" not in part.content


def test_the_api_knows_the_cookie_of_the_console(browse: Browse, alice: User) -> None:
    answer = browse(alice).get("/api/auth/profile")
    assert answer.json()["email"] == alice.email


def test_a_form_without_its_token_gets_advice(alice: User) -> None:
    stranger = Client(enforce_csrf_checks=True)
    refused = stranger.post("/app/sign-in", {"email": alice.email, "password": make.PASSWORD})
    assert refused.status_code == 403
    assert b"reload the page" in refused.content
    assert stranger.get("/app").status_code == 302
