"""Alert hooks are made, tested, replaced and deleted by forms; a page shows alerts and effects."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import escape
from pytest_django import Settings

from apps.accounts.models import User
from apps.alerts.models import AlertHook, AlertMessage, ReceivedAlert
from apps.algorithms import services as algorithms
from apps.algorithms.models import Algorithm
from apps.algorithms.serializers import AlgorithmBodySerializer
from apps.trading.models import Run
from tests import make
from tests.alerts.hooks import alert_in, hook_of, message_to
from tests.console.conftest import Browse
from tests.console.forms import HOSTILE_TEXTS
from tests.trading.algorithm_states import start, stopped_algorithm
from tests.trading.live.test_alert_signals import Listening, receive

ALERTS = "/app/alerts"
WAITS = "waits for the close of its candle"
PROOF = {"password": make.PASSWORD}
HOOK = {"name": "Breakouts", "format": "json", "networks": "", "expectedBy": "", **PROOF}


def address_in(page: Any) -> str:
    """Return the path of the address on a page."""
    url = str(page.context["url"])
    assert url.encode() in page.content
    return url[url.index("/hooks/") :]


def send(address: str, body: object) -> int:
    text = body if isinstance(body, str) else json.dumps(body)
    return Client().post(address, text, content_type="text/plain").status_code


def reader_of(owner: User, name: str = "Breakout", **settings: Any) -> Algorithm:
    """Return a stopped algorithm with entries of NSE:NIFTY by alerts of this name."""
    algorithm = stopped_algorithm(owner)
    condition = {"type": "signal", "name": name}
    entry = {"positionType": "long", "logicalOperator": "AND", "conditions": [condition]}
    body = AlgorithmBodySerializer.read({"entryConditions": entry, **settings})
    return algorithms.update(owner=owner, algorithm_id=algorithm.pk, changes=body, now=make.NOW)


def page_of(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def cells_of(client: Client) -> list[str]:
    """Return the effects of the newest alerts, without markup."""
    page = client.get(ALERTS)
    return [
        " ".join([*(f"{line['name']}: {line['text']}" for line in row["outcomes"]), row["hint"]])
        for row in page.context["listing"].rows
    ]


def test_a_hook_is_made_changed_replaced_and_deleted(browse: Browse, alice: User) -> None:
    client = browse(alice)
    form = {**HOOK, "networks": "203.0.113.0/24, 198.51.100.7", "expectedBy": "15:00"}
    first = address_in(client.post(f"{ALERTS}/new", form))
    hook = AlertHook.objects.get()
    assert hook.networks == ["203.0.113.0/24", "198.51.100.7/32"]
    address = f"{ALERTS}/{hook.pk}"
    page = client.get(address).content.decode()
    assert 'value="15:00"' in page
    assert "203.0.113.0/24, 198.51.100.7/32" in page
    client.post(address, {"name": "Scans", "format": "chartink"})
    hook.refresh_from_db()
    assert (hook.name, hook.format) == ("Scans", "chartink")
    assert (hook.networks, hook.expected_by) == ([], None)
    assert b"The old address ends at once." in client.get(f"{address}/rotate-secret").content
    assert client.post(f"{address}/rotate-secret").status_code == 400
    second = address_in(client.post(f"{address}/rotate-secret", PROOF))
    for shown in (ALERTS, address):
        assert second[-20:].encode() not in client.get(shown).content
    scan = {"alert_name": "Breakout", "stocks": "RELIANCE, TCS"}
    assert (send(first, scan), send(second, scan)) == (404, 202)
    assert b"Its address ends at once." in client.get(f"{address}/delete").content
    client.post(f"{address}/delete")
    assert client.get(address).status_code == 404
    assert send(second, scan) == 404
    assert b"NSE:TCS" in client.get(ALERTS).content


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("tradingview", "&quot;symbol&quot;: &quot;{{exchange}}:{{ticker}}&quot;"),
        ("chartink", "In ChartInk"),
        ("json", "/hooks/ah_"),
    ],
)
def test_the_page_with_the_address_says_what_to_paste_where(
    browse: Browse, alice: User, format: str, text: str
) -> None:
    client = browse(alice)
    page = client.post(f"{ALERTS}/new", {**HOOK, "format": format})
    assert text in page.content.decode()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"format": "fax"}, "format"),
        ({"networks": "everywhere"}, "networks"),
        ({"expectedBy": "soon"}, "expectedBy"),
        ({"password": "not mine"}, "password"),
    ],
)
def test_no_hook_is_made_of_a_wrong_form(
    browse: Browse, alice: User, wrong: dict[str, str], field: str
) -> None:
    page = browse(alice).post(f"{ALERTS}/new", {**HOOK, **wrong})
    assert (page.status_code, list(page.context["problems"])) == (400, [field])
    assert page.context["problems"][field] in page.content.decode()
    assert not AlertHook.objects.exists()


def test_a_wrong_change_keeps_what_was_typed(browse: Browse, alice: User) -> None:
    hook = hook_of(alice)
    form = {"name": "Scans", "format": "json", "networks": "here"}
    page = browse(alice).post(f"{ALERTS}/{hook.pk}", form)
    assert page.status_code == 400
    assert b'value="here"' in page.content
    hook.refresh_from_db()
    assert hook.name == "Breakouts"


@pytest.mark.parametrize("action", ["", "/test", "/rotate-secret", "/delete", "/nothing"])
def test_hooks_of_others_are_not_found(browse: Browse, alice: User, bob: User, action: str) -> None:
    address = f"{ALERTS}/{hook_of(alice).pk}{action}"
    other = browse(bob)
    assert other.get(address).status_code == 404
    assert other.post(address, PROOF).status_code == 404
    assert AlertHook.objects.get().ended_at is None
    assert not AlertMessage.objects.exists()


def test_alerts_of_others_are_not_shown(browse: Browse, alice: User, bob: User) -> None:
    hook = hook_of(alice)
    alert_in(hook, "Secret move")
    message_to(hook, refusal="It is empty.")
    page = browse(bob).get(ALERTS).content
    assert b"Secret move" not in page
    assert b"It is empty." not in page


def test_an_unknown_action_is_not_found(browse: Browse, alice: User) -> None:
    assert browse(alice).post(f"{ALERTS}/{hook_of(alice).pk}/nothing").status_code == 404


@pytest.mark.parametrize("action", ["new", "{hook}", "{hook}/test", "{hook}/delete"])
def test_a_form_needs_its_token_and_an_open_service(
    browse: Browse, alice: User, settings: Settings, action: str
) -> None:
    hook = hook_of(alice)
    client = browse(alice)
    address = f"{ALERTS}/{action.format(hook=hook.pk)}"
    client.handler.enforce_csrf_checks = True
    assert client.post(address, HOOK).status_code == 403
    client.handler.enforce_csrf_checks = False
    settings.MAINTENANCE = True
    assert client.post(address, HOOK).status_code == 503
    assert AlertHook.objects.get().ended_at is None
    assert not AlertMessage.objects.exists()


def test_what_came_stands_on_the_page(browse: Browse, alice: User) -> None:
    client = browse(alice)
    assert b"No alert hook yet." in client.get(ALERTS).content
    address = address_in(client.post(f"{ALERTS}/new", HOOK))
    assert send(address, {"name": "Breakout", "symbol": "NSE:NIFTY", "price": 24100.5}) == 202
    assert send(address, "<b>RELIANCE crossed</b>") == 400
    page = page_of(client, ALERTS)
    assert "24,100.50" in page
    assert "&lt;b&gt;RELIANCE crossed&lt;/b&gt;" in page
    [refused] = AlertMessage.objects.exclude(refusal="")
    assert refused.refusal in page
    messages = client.get(f"{ALERTS}/{AlertHook.objects.get().pk}").content.decode()
    assert refused.refusal in messages
    assert "NSE:NIFTY" in messages


def test_an_alert_that_nothing_reads_shows_the_names_that_are_read(
    browse: Browse, alice: User
) -> None:
    client, hook = browse(alice), hook_of(alice)
    alert_in(hook, "Breakuot")
    assert b"No algorithm reads alerts yet." in client.get(ALERTS).content
    reader_of(alice)
    page = page_of(client, ALERTS)
    assert "Your algorithms read: <strong>Breakout</strong>" in page
    assert "No algorithm reads it</span> Did you mean “Breakout”?" in page
    alert_in(hook, "Breakout", "NSE:TCS")
    assert b"Its name is read for other symbols, not for NSE:TCS." in client.get(ALERTS).content


def test_an_alert_waits_for_the_close_of_its_candle(browse: Browse, alice: User) -> None:
    client, hook, algorithm = browse(alice), hook_of(alice), reader_of(alice)
    alert_in(hook)
    assert cells_of(client) == [f"{algorithm.name}: was not trading "]
    run = start(algorithm)
    alert_in(hook, at=run.started_at + timedelta(seconds=1))
    assert cells_of(client)[0] == f"{algorithm.name}: {WAITS} "


def test_an_alert_shows_what_it_did_and_the_page_that_explains_it(
    browse: Browse, alice: User
) -> None:
    client, monday = browse(alice), Listening(alice)
    for number in range(3):
        monday.at(number, 1)
        receive(alice)
    Run.objects.update(started_at=make.NOW)
    page = client.get(ALERTS)
    lines = [line for row in page.context["listing"].rows for line in row["outcomes"]]
    done = {line["name"].rpartition(" ")[2]: line for line in lines if "signals" in line}
    assert sorted(done) == ["09:30", "09:45"]
    assert b'NSE:RELIANCE long entry <span class="status pass">followed</span>' in page.content
    assert {line["text"] for line in lines if "signals" not in line} == {WAITS}
    explanation = client.get(done["09:30"]["address"]).content.decode()
    assert "alert &quot;breakout&quot; is received: 01 Jun 09:30:" in explanation


def test_copies_of_a_message_are_counted(browse: Browse, alice: User) -> None:
    client = browse(alice)
    address = address_in(client.post(f"{ALERTS}/new", HOOK))
    for _ in range(3):
        assert send(address, {"name": "Breakout", "id": 7}) == 202
    assert "and 2 copies until" in page_of(client, f"{ALERTS}/{AlertHook.objects.get().pk}")
    assert ReceivedAlert.objects.count() == 1


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_a_hostile_alert_is_shown_as_it_is(browse: Browse, alice: User, text: str) -> None:
    hook = hook_of(alice)
    alert_in(hook, text[:100])
    message = message_to(hook, refusal=text)
    AlertMessage.objects.filter(pk=message.pk).update(body=text)
    for address in (ALERTS, f"{ALERTS}/{hook.pk}"):
        assert page_of(browse(alice), address).count(escape(text)) >= 3


def test_the_changing_part_is_asked_for_alone(browse: Browse, alice: User) -> None:
    alert_in(hook_of(alice), at=timezone.now())
    part = browse(alice).get(ALERTS, headers={"HX-Request": "true"}).content
    assert b"<html" not in part
    assert b"Breakout" in part
