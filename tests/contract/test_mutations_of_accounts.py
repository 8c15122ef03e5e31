"""Ten thousand wrong requests about accounts, without a 500.

Either the body is accepted and reads back as sent, or it is refused in the envelope with its path,
no secret is sent back, and nothing is stored. Each mutant meets the same accounts, because earlier
effects are undone. `make prove` runs the slow proof.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from unicodedata import normalize
from urllib.parse import quote, quote_from_bytes, urlencode

import pytest
from django.db import transaction
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob
from pytest_django import Settings
from rest_framework.test import APIClient

from apps.accounts import mails
from apps.accounts.login import two_factor
from apps.accounts.models import (
    ApiKey,
    DataExport,
    EmailLink,
    LinkPurpose,
    LoginSession,
    RecoveryCode,
    SecondFactor,
    User,
)
from apps.core.api.middleware import MAX_BODY
from apps.core.requests.addresses import read_network
from tests import make
from tests.accounts.authenticator import authenticator, code_of
from tests.conftest import Api
from tests.contract.mutations import Json, Mutant, mutants
from tests.contract.senders import PROOF, Rows, Sender, run
from tests.contract.sent_requests import assert_refused, read
from tests.error_responses import assert_error

pytestmark = pytest.mark.usefixtures("quiet")

AUTH: Final = "/api/auth"
SECRETS: Final = frozenset({"password", "currentPassword", "newPassword", "code"})
PRIVATE: Final = frozenset({"password", "code"})
FORM: Final = "application/x-www-form-urlencoded"
NEW: Final = "a new password"
NAMES: Final = {"name": "Alice", "displayName": "A trader"}
RESET: Final = {"newPassword": NEW, "endKeys": "on"}
QUICK: Final = pytest.param(0, 60, id="quick")
IGNORED: Final = {"anything": {"value": [1]}}
"""A body for calls that have no fields: there is something in it to change."""

Check = Callable[[dict[str, Json], Any], None]


def stored() -> Rows:
    """Return the rows that a refusal must not change; wrong passwords and failed logins are counted
    elsewhere.
    """
    return [
        *User.objects.order_by("pk").values_list(),
        *LoginSession.objects.order_by("pk").values_list("pk", "proved_at"),
        *SecondFactor.objects.order_by("pk").values_list("user", "confirmed_at", "created_at"),
        *RecoveryCode.objects.order_by("pk").values_list("pk", "used_at"),
        *EmailLink.objects.order_by("pk").values_list("pk", "used_at"),
        tuple(model._default_manager.count() for model in (ApiKey, DataExport, ProcrastinateJob)),
    ]


# Reading back


def reads_back(sent: dict[str, Json], answer: dict[str, Json], *names: str) -> None:
    for name in sent.keys() & set(names):
        assert answer[name] == normalize("NFC", sent[name].strip()), name


def is_of_the_profile(sent: dict[str, Json], response: Any) -> None:
    reads_back(sent, response.json(), "name", "displayName")


def is_of_the_user(sent: dict[str, Json], response: Any) -> None:
    user = response.json()["user"]
    assert user["email"] == sent["email"].lower()
    if response.status_code == 201:
        reads_back(sent, user, "name")


def is_of_the_key(sent: dict[str, Json], response: Any) -> None:
    key = response.json()
    reads_back(sent, key, "name")
    assert sorted(key["scopes"]) == sorted(sent["scopes"])
    assert key["networks"] == [read_network(text) for text in sent.get("networks", [])]
    if sent.get("expiresAt", "") is None:
        assert key["expiresAt"] is None
    else:
        expires_at = datetime.fromisoformat(key["expiresAt"])
        asked = sent.get("expiresAt")
        wanted = datetime.fromisoformat(asked) if asked else timezone.now() + timedelta(days=90)
        assert abs(expires_at - wanted) < timedelta(minutes=1)


# The calls


@dataclass(frozen=True)
class Call:
    """A call: its client, its good bodies, and its permitted answers beside a refusal of
    the body.
    """

    client: APIClient
    verb: str
    path: str
    good: list[dict[str, Json]]
    refusals: dict[int, str] = field(default_factory=dict)
    check: Check = lambda sent, response: None
    private: frozenset[str] = PRIVATE

    def judge(self, sender: Sender, mutant: Mutant) -> None:
        response, sent = sender.send(self.verb, self.path, mutant), read(mutant.raw)
        status = response.status_code
        if status < 300:
            self.check(sent.document or {}, response)
            sender.counts.complete += 1
            return
        assert sender.stored() == sender.rows
        if status in self.refusals:
            assert_error(response, status, self.refusals[status])
        elif b"must lie in the future" in response.content:  # the value is told in UTC
            assert_error(response, 400, "VALIDATION_ERROR", field="expiresAt")
        else:
            assert_refused(response, sent, mutant.raw, secrets=SECRETS, private=self.private)


class Query(Call):
    """A call with its mutants in the query."""

    def judge(self, sender: Sender, mutant: Mutant) -> None:
        empty = Mutant(b"", mutant.changes)
        response = sender.send(self.verb, self.path, empty, query=_encoded(mutant.raw))
        if response.status_code != 200:
            assert_error(response, 400, "VALIDATION_ERROR")


class Page(Call):
    """A page with its mutants sent as a form."""

    def judge(self, sender: Sender, mutant: Mutant) -> None:
        form = Mutant(_encoded(mutant.raw).encode(), mutant.changes)
        self.judge_page(sender, sender.send(self.verb, self.path, form, FORM))

    def judge_page(self, sender: Sender, response: Any) -> None:
        assert response.status_code in (200, 302, 400, 404, 413, 422), response.content
        if response.status_code >= 400:
            assert sender.stored() == sender.rows


class Link(Page):
    """A page with its mutants as the token in the path."""

    def judge(self, sender: Sender, mutant: Mutant) -> None:
        token = mutant.raw.removeprefix(b'{"token": "').removesuffix(b'"}')
        path = self.path + quote(token, safe="")
        self.judge_page(sender, sender.send(self.verb, path, Mutant(b"", mutant.changes), FORM))


def _encoded(raw: bytes) -> str:
    """Return a body as a query or a form: the pairs of an object, else its raw bytes."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        return quote_from_bytes(raw)
    if not isinstance(document, dict):
        return quote_from_bytes(raw)
    texts = {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in document.items()
    }
    return urlencode(texts, errors="surrogatepass")


@pytest.fixture
def calls(api: Api, alice: User, bob: User) -> list[Call]:
    """Return the calls. Alice is about to turn a second factor on; Bob has one."""
    now = timezone.now()
    first_code = code_of(authenticator(two_factor.begin_two_factor(user=alice, now=now)))
    totp = authenticator(two_factor.begin_two_factor(user=bob, now=now))
    code = two_factor.confirm_two_factor(user=bob, code=code_of(totp, -1), now=now)[0]
    alices, bobs, nobodys = api(alice), api(bob), api()
    alice.sessions.update(proved_at=timezone.now())
    of_alice = {"email": alice.email, "password": make.PASSWORD}
    of_bob = {"email": bob.email, "password": make.PASSWORD, "code": code}
    logins: list[Json] = [{**of_alice, "sessionCookie": True}, of_bob]
    new = {**of_alice, "email": "New@example.com", "name": "New"}
    passwords = {"currentPassword": make.PASSWORD, "newPassword": NEW}
    key = {"name": "Night runner", "scopes": ["read", "trade"]}
    bound = {**key, "networks": ["127.0.0.0/8", "2001:db8::/32"]}
    keys: list[Json] = [
        bound,
        {**bound, "expiresAt": "2999-12-31T18:30:00+05:30"},
        {**key, "expiresAt": None},
    ]
    page = [{"page": "1", "limit": "20"}]
    reset, verify = (_link(alice, purpose) for purpose in (LinkPurpose.RESET, LinkPurpose.VERIFY))
    taken, wrong = {409: "CONFLICT"}, {401: "UNAUTHORIZED"}
    return [
        Call(nobodys, "POST", f"{AUTH}/signup", [new], taken, is_of_the_user),
        Call(nobodys, "POST", f"{AUTH}/login", logins, wrong, is_of_the_user, PRIVATE | {"email"}),
        Call(alices, "PATCH", f"{AUTH}/profile", [NAMES], {}, is_of_the_profile),
        Call(alices, "DELETE", f"{AUTH}/profile", [IGNORED]),
        Call(alices, "POST", f"{AUTH}/password", [passwords]),
        Call(nobodys, "POST", f"{AUTH}/password-reset", [{"email": alice.email}]),
        Call(alices, "POST", f"{AUTH}/proof", [{"password": make.PASSWORD}]),
        Call(bobs, "POST", f"{AUTH}/proof", [{"password": make.PASSWORD, "code": code}]),
        Call(alices, "POST", f"{AUTH}/verification", [{}, IGNORED]),
        Call(alices, "POST", f"{AUTH}/email", [{"email": "new@example.com"}]),
        Call(alices, "POST", f"{AUTH}/two-factor", [{}, IGNORED]),
        Call(alices, "POST", f"{AUTH}/two-factor/confirm", [{"code": first_code}]),
        Call(bobs, "POST", f"{AUTH}/two-factor/recovery-codes", [{}, IGNORED]),
        Call(bobs, "DELETE", f"{AUTH}/two-factor", [IGNORED]),
        Call(alices, "POST", f"{AUTH}/keys", keys, {}, is_of_the_key),
        Call(alices, "POST", f"{AUTH}/export", [{}, IGNORED]),
        Query(alices, "GET", f"{AUTH}/activity", page),
        Query(alices, "GET", f"{AUTH}/sessions", page),
        Query(alices, "GET", f"{AUTH}/keys", page),
        Page(nobodys, "POST", f"/account/reset/{reset}", [RESET]),
        Page(nobodys, "POST", f"/account/verify/{verify}", [IGNORED]),
        Page(nobodys, "POST", "/admin/login/", [{**of_bob, "username": bob.email}]),
        Link(nobodys, "POST", "/account/reset/", [{"token": reset}]),
        Link(nobodys, "POST", "/account/verify/", [{"token": verify}]),
        Link(nobodys, "GET", "/account/address/", [{"token": verify}]),
    ]


def _link(user: User, purpose: LinkPurpose) -> str:
    mails.send_link(user, purpose, email=user.email, now=timezone.now())
    return mails.signed(user.email_links.get(purpose=purpose))


@pytest.fixture
def counted(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures are counted, but the limit is never reached."""
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "failures": "1000000/15m"}
    monkeypatch.setattr("apps.accounts.login.login_limits.NETWORK_RATE", "1000000/15m")


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize(("first", "count"), [QUICK, *PROOF])
def test_a_wrong_body_about_an_account_is_refused_by_its_place_or_reads_back(
    calls: list[Call], first: int, count: int, mutation_seed: int
) -> None:
    chosen = [calls[number % len(calls)] for number in range(first, first + count)]
    remaining = iter(chosen)
    # The admin shows its form again with the sent text, escaped.
    sender = Sender(chosen[0].client, stored, largest=MAX_BODY)
    sender.settle()

    def batch() -> Iterator[Mutant]:
        for number, call in enumerate(chosen, first):
            (mutant,) = mutants(call.good, seed=mutation_seed, first=number, count=1)
            yield Mutant(mutant.raw, f"{call.verb} {call.path}: {mutant.changes}")

    def judge(mutant: Mutant) -> None:
        call = next(remaining)
        sender.client = call.client
        sender.client.cookies.clear()
        with transaction.atomic():
            try:
                call.judge(sender, mutant)
            finally:
                transaction.set_rollback(True)

    run(sender, batch(), judge)
    assert sender.counts.complete > count // 20
