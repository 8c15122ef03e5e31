"""Verification, reset and change of address by links in mails."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.core import mail
from django.core.mail import EmailMultiAlternatives
from django.db import connection
from django.test import Client
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob
from pytest_django import Settings

from apps.accounts import mails, tasks
from apps.accounts.login import email_links, services, tokens
from apps.accounts.login.email_links import LinkRejected
from apps.accounts.models import EmailLink, LinkPurpose, LoginSession, SessionEndReason, User
from apps.core import audit
from apps.core.limits import mail_limits
from apps.core.limits.rate_limits import TooManyRequests
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

NEW = "a new password"


def send_mails() -> list[str]:
    """Do the waiting jobs; return the links in the mails that they sent."""
    mail.outbox.clear()
    while job := ProcrastinateJob.objects.filter(task_name__startswith="accounts.").first():
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM procrastinate_jobs WHERE id = %s", [job.id])
        (
            tasks.send_account_mail
            if job.task_name == mails.ACCOUNT_MAIL_JOB
            else tasks.send_reset_link
        )(**job.args)
    matches = [
        re.search(r"http://localhost:\d+(/account/\S+)", str(sent.body)) for sent in mail.outbox
    ]
    return [match[1] for match in matches if match]


@pytest.fixture
def verified(alice: User) -> User:
    User.objects.filter(pk=alice.pk).update(email_verified=True)
    alice.refresh_from_db()
    return alice


# Verification


def test_signing_up_sends_a_link_that_verifies_the_address(api: Api) -> None:
    body = {"email": "new@example.com", "password": make.PASSWORD, "name": "New"}
    assert api().post("/api/auth/signup", body).status_code == 201
    (path,) = send_mails()
    assert mail.outbox[0].to == ["new@example.com"]
    user = User.objects.get(email="new@example.com")
    page = Client().get(path)
    assert b"new@example.com" in page.content
    user.refresh_from_db()
    assert not user.email_verified  # a scanner of mails has opened the link, and nobody else
    assert b"is verified" in Client().post(path).content
    user.refresh_from_db()
    assert user.email_verified


def test_a_link_leads_to_the_service_for_any_host_in_the_request(
    api: Api, alice: User, settings: Settings
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    api(alice).post("/api/auth/verification", headers={"Host": "evil.example"})
    send_mails()
    body = str(mail.outbox[0].body)
    assert settings.PUBLIC_URL in body
    assert "evil.example" not in body


def test_a_link_works_once(api: Api, alice: User) -> None:
    api(alice).post("/api/auth/verification")
    (path,) = send_mails()
    assert Client().post(path).status_code == 200
    again = Client().post(path)
    assert (again.status_code, b"has been used or has expired" in again.content) == (422, True)


@pytest.mark.parametrize("path", ["/account/verify/x", "/account/reset/x", "/account/address/x:y"])
def test_an_unknown_link_is_refused_on_a_page(api: Api, path: str) -> None:
    response = Client().get(path)
    assert response.status_code == 422
    assert response["Content-Type"].startswith("text/html")


def test_a_link_expires(api: Api, alice: User) -> None:
    api(alice).post("/api/auth/verification")
    (path,) = send_mails()
    EmailLink.objects.update(expires_at=timezone.now())
    assert Client().post(path).status_code == 422


def test_a_link_for_one_purpose_serves_no_other(api: Api, alice: User) -> None:
    api(alice).post("/api/auth/verification")
    (path,) = send_mails()
    response = Client().post(path.replace("/verify/", "/reset/"), {"newPassword": NEW})
    assert response.status_code == 422
    alice.refresh_from_db()
    assert alice.check_password(make.PASSWORD)


def test_a_verified_address_is_not_verified_again(api: Api, verified: User) -> None:
    response = api(verified).post("/api/auth/verification")
    assert_error(response, 422, "UNPROCESSABLE_ENTITY")


def test_an_address_changed_in_the_meantime_is_not_verified(api: Api, alice: User) -> None:
    api(alice).post("/api/auth/verification")
    (path,) = send_mails()
    User.objects.filter(pk=alice.pk).update(email="other@example.com")
    assert Client().post(path).status_code == 422


def test_the_response_gives_the_reason_if_mail_is_off(
    api: Api, alice: User, settings: Settings
) -> None:
    settings.SERVES_LOOPBACK_ALONE = False
    for response in (
        api(alice).post("/api/auth/verification"),
        api(alice).post("/api/auth/email", {"email": "new@example.com"}),
        api().post("/api/auth/password-reset", {"email": alice.email}),
    ):
        assert_error(response, 503, "SERVICE_UNAVAILABLE", reason="no_mail_server")
    settings.EMAIL_HOST = "mail.example.com"
    assert api(alice).post("/api/auth/verification").status_code == 200


# Reset


def test_a_reset_ends_all_sessions_and_on_request_all_keys(api: Api, alice: User) -> None:
    client = api(alice)
    client.post("/api/auth/keys", {"name": "A key", "scopes": ["read"]})
    api().post("/api/auth/password-reset", {"email": alice.email.upper()})
    (path,) = send_mails()
    assert b'name="endKeys" checked> Revoke all API keys' in Client().get(path).content
    done = Client().post(path, {"newPassword": NEW, "endKeys": "on"})
    assert b"Your password is changed" in done.content
    assert_error(client.get("/api/auth/profile"), 401, "UNAUTHORIZED")
    assert not alice.keys.filter(revoked_at=None).exists()
    body = {"email": alice.email, "password": NEW}
    assert api().post("/api/auth/login", body).status_code == 200


def test_a_reset_keeps_keys_if_the_box_is_unchecked(api: Api, alice: User) -> None:
    api(alice).post("/api/auth/keys", {"name": "A key", "scopes": ["read"]})
    api().post("/api/auth/password-reset", {"email": alice.email})
    (path,) = send_mails()
    Client().post(path, {"newPassword": NEW})
    assert alice.keys.filter(revoked_at=None).exists()


def test_the_response_does_not_reveal_an_account(api: Api, alice: User) -> None:
    answers = [
        api().post("/api/auth/password-reset", {"email": email}).json()
        for email in (alice.email, "nobody@example.com")
    ]
    assert answers[0] == answers[1]
    assert len(send_mails()) == 1


def test_a_bad_new_password_leaves_the_link_good(api: Api, alice: User) -> None:
    api().post("/api/auth/password-reset", {"email": alice.email})
    (path,) = send_mails()
    refused = Client().post(path, {"newPassword": "short"})
    assert (refused.status_code, b'role="alert"' in refused.content) == (400, True)
    assert Client().post(path, {"newPassword": NEW}).status_code == 200


def test_a_reset_link_lasts_thirty_minutes(api: Api, alice: User) -> None:
    api().post("/api/auth/password-reset", {"email": alice.email})
    send_mails()
    link = EmailLink.objects.get()
    assert link.expires_at - link.created_at == timedelta(minutes=30)


# Change of address


def change_address(api: Api, user: User, new: str = "new@example.com") -> list[str]:
    """Return the paths of the two links: to the old address, to the new address."""
    assert api(user).post("/api/auth/email", {"email": new}).status_code == 200
    return send_mails()


@pytest.mark.parametrize("first", [0, 1])
def test_both_addresses_confirm_a_change(api: Api, verified: User, first: int) -> None:
    paths = change_address(api, verified)
    assert b"other address" in Client().post(paths[first]).content
    verified.refresh_from_db()
    assert verified.email == "alice@example.com"
    assert b"is changed" in Client().post(paths[1 - first]).content
    verified.refresh_from_db()
    assert (verified.email, verified.email_verified) == ("new@example.com", True)
    send_mails()
    assert [sent.to for sent in mail.outbox] == [["alice@example.com"]]


def test_a_later_change_replaces_an_earlier_one(api: Api, verified: User) -> None:
    earlier = change_address(api, verified, "first@example.com")
    change_address(api, verified, "second@example.com")
    assert {Client().post(path).status_code for path in earlier} == {422}


def test_a_taken_address_gets_the_same_answer_and_mails_as_a_free_one(
    api: Api, verified: User, bob: User
) -> None:
    answers, mailed = [], []
    for new in (bob.email, "free@example.com"):
        answers.append(api(verified).post("/api/auth/email", {"email": new}).json())
        send_mails()
        texts = [re.sub(r"http\S+|until .*IST", "", str(sent.body)) for sent in mail.outbox]
        mailed.append(texts)
        assert [sent.to for sent in mail.outbox] == [[verified.email], [new]]
    assert answers[0] == answers[1]
    assert mailed[0] == mailed[1]


def test_one_used_link_and_its_repetition_change_no_address(api: Api, verified: User) -> None:
    leave, _ = change_address(api, verified)
    Client().post(leave)
    leave_again, take = change_address(api, verified)
    assert b"other address" in Client().post(leave_again).content
    assert b"is changed" in Client().post(take).content


def test_an_address_taken_in_the_meantime_is_refused(api: Api, verified: User) -> None:
    paths = change_address(api, verified)
    Client().post(paths[0])
    User.objects.create_user(
        email="new@example.com", password=None, name="Quicker", now=timezone.now()
    )
    assert Client().post(paths[1]).status_code == 422
    verified.refresh_from_db()
    assert verified.email == "alice@example.com"


# Links expire with their basis


def request_links(api: Api, user: User) -> list[str]:
    """Return the paths of every kind of link that an account can request."""
    api(user).post("/api/auth/verification")
    api(user).post("/api/auth/email", {"email": "new@example.com"})
    api().post("/api/auth/password-reset", {"email": user.email})
    paths = send_mails()
    assert len(paths) == 4
    return paths


def statuses(paths: list[str]) -> list[int]:
    return [Client().get(path).status_code for path in paths]


def test_a_reset_expires_all_other_links(api: Api, alice: User) -> None:
    *other_paths, reset = request_links(api, alice)
    assert statuses(other_paths) == [200, 200, 200]
    Client().post(reset, {"newPassword": NEW})
    assert statuses(other_paths) == [422, 422, 422]


def test_a_password_change_expires_all_links(api: Api, alice: User) -> None:
    paths = request_links(api, alice)
    body = {"currentPassword": make.PASSWORD, "newPassword": NEW}
    assert api(alice).post("/api/auth/password", body).status_code == 200
    assert statuses(paths) == [422] * 4


def test_a_change_of_address_expires_all_other_links(api: Api, alice: User) -> None:
    verification, leave, take, reset = request_links(api, alice)
    Client().post(leave)
    assert b"is changed" in Client().post(take).content
    assert statuses([verification, reset]) == [422, 422]


# Limits


def mailed(api: Api, times: int, path: str, user: User | None, body: object = None) -> int:
    """Return the number of mails after this many calls."""
    for _ in range(times):
        api(user).post(path, body)
    send_mails()
    return len(mail.outbox)


def test_three_mails_of_a_kind_reach_an_address_in_an_hour(api: Api, alice: User) -> None:
    assert mailed(api, 6, "/api/auth/verification", alice) == 3
    assert_error(api(alice).post("/api/auth/verification"), 429, "TOO_MANY_REQUESTS")
    assert mailed(api, 6, "/api/auth/password-reset", None, {"email": alice.email}) == 3


def test_ten_mails_of_a_kind_reach_an_address_in_a_day(alice: User) -> None:
    hourly, daily = mail_limits.RATES
    assert hourly == "3/h"
    for _ in range(10):
        mail_limits.count_mail("verify", to=alice.email, user_id=alice.pk, rates=(daily,))
    with pytest.raises(TooManyRequests):
        mail_limits.count_mail("verify", to=alice.email, user_id=alice.pk, rates=(daily,))


def test_accounts_together_send_a_stranger_no_more_mails(api: Api) -> None:
    for number in range(6):
        user = make.user(f"user{number}")
        api(user).post("/api/auth/email", {"email": f"stranger+{number % 2}@example.com"})
    send_mails()
    assert sum("stranger" in sent.to[0] for sent in mail.outbox) == 3


def test_an_account_sends_three_strangers_a_mail_in_an_hour(api: Api, alice: User) -> None:
    sent_to_strangers = 0
    for number in range(6):
        api(alice).post("/api/auth/email", {"email": f"stranger{number}@example.com"})
        send_mails()
        sent_to_strangers += sum("stranger" in sent.to[0] for sent in mail.outbox)
    assert sent_to_strangers == 3


def test_a_link_is_sent_again_while_it_is_valid(api: Api, alice: User) -> None:
    api(alice).post("/api/auth/verification")
    first = send_mails()
    api(alice).post("/api/auth/verification")
    assert send_mails() == first
    EmailLink.objects.update(expires_at=timezone.now())
    api(alice).post("/api/auth/verification")
    assert send_mails() != first


def test_skipped_notices_do_not_stop_their_actions(api: Api, verified: User) -> None:
    client = api(verified)
    for number in range(5):
        body = {"name": f"Key {number}", "scopes": ["read"]}
        assert client.post("/api/auth/keys", body).status_code == 201
    send_mails()
    assert len(mail.outbox) == 3
    assert verified.keys.count() == 5


def test_a_mail_to_an_unverified_address_has_no_text_that_a_user_chose(
    api: Api, alice: User
) -> None:
    User.objects.filter(pk=alice.pk).update(name="BUY THIS NOW")
    alice.refresh_from_db()
    api(alice).post("/api/auth/verification")
    api(alice).post("/api/auth/email", {"email": "buy.this.now@example.com"})
    api().post("/api/auth/password-reset", {"email": alice.email})
    assert len(send_mails()) == 4
    for sent in mail.outbox:
        assert isinstance(sent, EmailMultiAlternatives)
        for form in (str(sent.body), str(sent.alternatives[0][0])):
            assert "buy" not in re.sub(r"http[^\s\"<]+", "", form).lower()  # links are random
            assert "Hello," in form


# Races


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("purpose", [LinkPurpose.RESET, LinkPurpose.VERIFY])
def test_of_two_concurrent_uses_one_succeeds(purpose: LinkPurpose) -> None:
    user = make.user("racer")
    mails.send_link(user, purpose, email=user.email, now=timezone.now())
    token = mails.signed(EmailLink.objects.get())
    ready = Barrier(2)
    uses: dict[LinkPurpose, Callable[[int], object]] = {
        LinkPurpose.VERIFY: lambda _: email_links.verify_address(token=token, now=timezone.now()),
        LinkPurpose.RESET: lambda number: email_links.reset_password(
            token=token,
            new_password=f"new password {number}",
            end_keys=False,
            now=timezone.now(),
        ),
    }

    def use(number: int) -> bool:
        ready.wait()
        try:
            uses[purpose](number)
        except LinkRejected:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(use, range(2))) == [False, True]


# Notices to the user


def mailed_subjects() -> list[str]:
    send_mails()
    return [str(sent.subject) for sent in mail.outbox]


def activity(api: Api, user: User) -> dict[str, dict[str, object]]:
    """Return the user's activity, keyed by action."""
    rows = api(user).get("/api/auth/activity").json()["data"]
    return {row["action"]: row for row in reversed(rows)}


def test_a_reused_refresh_token_is_mailed(api: Api, verified: User) -> None:
    session = LoginSession.objects.create(
        user=verified,
        created_at=timezone.now(),
        last_used_at=timezone.now(),
        expires_at=timezone.now() + timedelta(days=7),
        rotated_at=timezone.now() - timedelta(hours=2),
    )
    client = api()
    client.cookies["refreshToken"] = tokens.refresh_token(session)
    assert client.post("/api/auth/refresh-token").status_code == 200
    LoginSession.objects.update(rotated_at=timezone.now() - timedelta(minutes=5))
    client.cookies["refreshToken"] = tokens.refresh_token(session)
    assert client.post("/api/auth/refresh-token").status_code == 401
    assert mailed_subjects() == ["A session of your account was ended"]
    assert "used again" in str(mail.outbox[0].body)
    row = activity(api, verified)["session_reused"]
    assert row["by"] == "system"
    assert row["details"] == {"reason": "reuse", "session": session.pk}


def test_sessions_ended_by_the_service_are_mailed(api: Api, verified: User) -> None:
    body = {"email": verified.email, "password": make.PASSWORD}
    for _ in range(services.MOST_SESSIONS + 1):
        api().post("/api/auth/login", body)
    assert "A session of your account was ended" in mailed_subjects()
    assert activity(api, verified)["session_ended"]["by"] == "system"


def test_sessions_ended_by_an_operator_are_mailed(api: Api, verified: User, bob: User) -> None:
    api(verified)
    services.end(
        verified.sessions.all(),
        reason=SessionEndReason.OPERATOR,
        now=timezone.now(),
        by=audit.operator(bob),
    )
    assert mailed_subjects() == ["A session of your account was ended"]
    assert bob.email not in str(mail.outbox[0].body)
    assert activity(api, verified)["session_ended"]["by"] == "operator"


def test_a_session_that_its_user_ends_is_not_mailed(api: Api, verified: User) -> None:
    api(verified).delete("/api/auth/sessions")
    assert mailed_subjects() == []


def test_a_login_from_a_new_browser_is_mailed_and_from_a_known_one_is_not(
    api: Api, verified: User
) -> None:
    browser, form = Client(), {"email": verified.email, "password": make.PASSWORD}
    browser.post("/app/sign-in", form)
    assert mailed_subjects() == ["A login from a new device"]
    assert activity(api, verified)["login"]["details"] == {"newDevice": True}
    browser.post("/app/sign-out")
    browser.post("/app/sign-in", form, REMOTE_ADDR="203.0.113.7")
    assert mailed_subjects() == []
    Client().post("/app/sign-in", form)
    assert mailed_subjects() == ["A login from a new device"]


def test_notices_go_only_to_verified_addresses(api: Api, verified: User) -> None:
    login = {"email": verified.email, "password": make.PASSWORD}
    api().post("/api/auth/login", login, REMOTE_ADDR="198.51.100.1")
    api().post("/api/auth/login", login, REMOTE_ADDR="198.51.100.2")
    api(verified).post("/api/auth/keys", {"name": "Night <b>runner</b>", "scopes": ["read"]})
    body = {"currentPassword": make.PASSWORD, "newPassword": NEW}
    api(verified).post("/api/auth/password", body)
    send_mails()
    assert [sent.subject for sent in mail.outbox] == [
        "A login from a new device",
        "A new API key",
        "Your password was changed",
    ]
    key_mail = mail.outbox[1]
    assert "Night <b>runner</b>" in str(key_mail.body)
    assert isinstance(key_mail, EmailMultiAlternatives)
    html = str(key_mail.alternatives[0][0])
    assert "Night &lt;b&gt;runner&lt;/b&gt;" in html
    User.objects.update(email_verified=False)
    verified.refresh_from_db()
    api(verified).post("/api/auth/keys", {"name": "Another", "scopes": ["read"]})
    send_mails()
    assert mail.outbox == []
