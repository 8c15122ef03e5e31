"""The way in and out of the console."""

import pytest
from django.test import Client

from apps.accounts import two_factor
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


def test_what_is_wrong_stands_beside_its_field(stranger: Client, alice: User) -> None:
    answer = stranger.post("/app/sign-up", {**NEW, "password": "short", "email": "x"})
    assert answer.status_code == 400
    assert b'id="password-problem"' in answer.content
    assert b'id="email-problem"' in answer.content
    assert b"short" not in answer.content
    taken = stranger.post("/app/sign-up", {**NEW, "email": alice.email})
    assert taken.status_code == 409
    assert b"exists already" in taken.content


def test_a_wrong_password_is_refused(stranger: Client, alice: User) -> None:
    answer = stranger.post("/app/sign-in", {"email": alice.email, "password": "wrong"})
    assert answer.status_code == 401
    assert b"is wrong" in answer.content
    assert stranger.get("/app").status_code == 302


def test_a_second_factor_is_asked_for(
    stranger: Client, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two_factor, "is_on", lambda user: True)
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


def test_a_form_without_its_token_says_what_to_do(alice: User) -> None:
    stranger = Client(enforce_csrf_checks=True)
    refused = stranger.post("/app/sign-in", {"email": alice.email, "password": make.PASSWORD})
    assert refused.status_code == 403
    assert b"load the page again" in refused.content
    assert stranger.get("/app").status_code == 302
