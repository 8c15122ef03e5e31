"""Keys, the second factor, the export and closing of an account, by the forms of the settings."""

import io
import zipfile
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from apps.accounts.models import ApiKey, DataExport, EmailLink, LinkPurpose, User
from apps.accounts.own_data import exports
from tests import make
from tests.accounts.authenticator import authenticator, code_of
from tests.console.conftest import Browse

PROOF = {"password": make.PASSWORD}


def test_a_key_is_shown_once_and_lets_a_program_in(browse: Browse, alice: User) -> None:
    client = browse(alice)
    page = client.post("/app/settings/keys", {"name": "Night", "scopes": ["read"], **PROOF})
    [text] = page.context["secrets"]
    headers = {"Authorization": f"Bearer {text}"}
    assert Client().get("/api/trading/algorithms", headers=headers).status_code == 200
    settings = client.get("/app/settings").content
    assert b"Night" in settings
    assert text.encode() not in settings


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"name": "Night", "scopes": ["read"], "password": "not mine"}, "password"),
        ({"name": "Night", "scopes": ["read"]}, "password"),
        ({"name": "Night", **PROOF}, "scopes"),
        ({"scopes": ["read"], **PROOF}, "name"),
    ],
)
def test_no_key_is_made_of_a_wrong_form(
    browse: Browse, alice: User, form: dict[str, object], field: str
) -> None:
    page = browse(alice).post("/app/settings/keys", form)
    assert page.status_code == 400
    assert field in page.context["problems"]
    assert not ApiKey.objects.exists()


def test_the_second_factor_is_set_up_used_and_turned_off(browse: Browse, alice: User) -> None:
    client = browse(alice)
    address = "/app/settings/two-factor"
    assert client.post(address, {"action": "begin"}).status_code == 400
    uri = client.post(address, {"action": "begin", **PROOF}).context["uri"]
    refused = client.post(address, {"action": "confirm", "code": "000000x"})
    assert (refused.status_code, refused.context["uri"]) == (400, uri)
    page = refused.content.decode()
    [key] = parse_qs(urlsplit(uri).query)["secret"]
    assert f">{key}</code>" in page
    assert "<title>QR code of the second factor</title>" in page
    telephone = authenticator(uri)
    codes = client.post(address, {"action": "confirm", "code": code_of(telephone)})
    assert len(codes.context["secrets"]) == 10
    form = {"email": alice.email, **PROOF}
    assert Client().post("/app/sign-in", form).status_code == 401
    spare = codes.context["secrets"][0]
    assert Client().post("/app/sign-in", {**form, "code": spare}).status_code == 302
    assert client.post(address, {"action": "end", **PROOF}).status_code == 400
    used = {**PROOF, "code": codes.context["secrets"][1]}
    renewed = client.post(address, {"action": "renew", **used})
    used["code"] = renewed.context["secrets"][0]
    assert client.post(address, {"action": "end", **used}).status_code == 302
    assert Client().post("/app/sign-in", form).status_code == 302


def test_the_second_factor_is_not_confirmed_by_a_fresh_sign_in(browse: Browse, alice: User) -> None:
    uri = (
        browse(alice).post("/app/settings/two-factor", {"action": "begin", **PROOF}).context["uri"]
    )
    form = {"action": "confirm", "code": code_of(authenticator(uri))}
    assert browse(alice).post("/app/settings/two-factor", form).status_code == 403


def test_the_export_is_asked_for_made_and_fetched(browse: Browse, alice: User, bob: User) -> None:
    client = browse(alice)
    assert client.post("/app/settings/export", {}).status_code == 400
    address = client.post("/app/settings/export", PROOF)["Location"]
    assert b"Creating the archive" in client.get(address).content
    exports.make_archive(export_id=DataExport.objects.get().pk, now=timezone.now())
    assert b"Download" in client.get(address).content
    archive = client.post(address, PROOF)
    assert zipfile.ZipFile(io.BytesIO(archive.getvalue())).testzip() is None
    assert browse(bob).get(address).status_code == 404


def test_an_account_is_closed_once_its_address_is_typed(browse: Browse, alice: User) -> None:
    client = browse(alice)
    wrong = client.post("/app/settings/close", {"confirmation": "yes", **PROOF})
    assert wrong.status_code == 400
    assert client.get("/app").status_code == 200
    client.post("/app/settings/close", {"confirmation": alice.email, **PROOF})
    assert client.get("/app").status_code == 302
    alice.refresh_from_db()
    assert alice.erase_at is not None
    assert b"to keep the account" in client.get("/app/sign-in").content


def test_another_password_ends_the_other_sessions(browse: Browse, alice: User) -> None:
    client, other = browse(alice), browse(alice)
    address = "/app/settings/password"
    for form, field in (
        ({"password": "not mine", "newPassword": "a wholly new password"}, "password"),
        ({**PROOF, "newPassword": "short"}, "newPassword"),
        (PROOF, "newPassword"),
    ):
        page = client.post(address, form)
        assert (page.status_code, list(page.context["problems"])) == (400, [field])
    page = client.post(address, {**PROOF, "newPassword": "a wholly new password"}, follow=True)
    assert b"other sessions are signed out" in page.content
    assert other.get("/app").status_code == 302
    alice.refresh_from_db()
    assert alice.check_password("a wholly new password")


def test_changing_the_address_sends_links_to_both(browse: Browse, alice: User) -> None:
    client = browse(alice)
    address = "/app/settings/address"
    wrong = client.post(address, {"email": "nowhere", **PROOF})
    assert (wrong.status_code, list(wrong.context["problems"])) == (400, ["email"])
    page = client.post(address, {"email": "rao@example.com", **PROOF}, follow=True)
    assert b"We sent a link to both addresses" in page.content
    assert EmailLink.objects.filter(purpose=LinkPurpose.TAKE_ADDRESS).count() == 1


def test_no_address_is_requested_where_mail_is_off(
    browse: Browse, alice: User, settings: Settings
) -> None:
    settings.SERVES_LOOPBACK_ALONE = False
    settings.EMAIL_HOST = ""
    page = browse(alice).get("/app/settings/address")
    assert page.status_code == 503
    assert b"This service sends no mail" in page.content


def test_the_link_that_verifies_is_sent_again(browse: Browse, alice: User) -> None:
    client = browse(alice)
    page = client.post("/app/settings/verification", follow=True)
    assert b"Verification link sent to alice@example.com" in page.content
    assert EmailLink.objects.filter(purpose=LinkPurpose.VERIFY).count() == 1
    User.objects.update(email_verified=True)
    assert b"Send me the link" not in client.get("/app/settings").content
    assert client.post("/app/settings/verification").status_code == 422


def test_the_page_of_a_link_has_the_look_of_the_console(client: Client, alice: User) -> None:
    page = client.get("/account/reset/nobodys")
    assert page.status_code == 422
    for part in (b"console.css", b"no-referrer", b"Get another link"):
        assert part in page.content
