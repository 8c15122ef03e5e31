"""/docs/webhooks: its example verifies, and its code samples work."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import pytest
from django.test import Client
from standardwebhooks.webhooks import Webhook

from apps.webhooks.event_types import EventType
from apps.webhooks.lifecycle import FAILURE_MEANINGS, Failure
from apps.webhooks.sending.http import send
from apps.webhooks.sending.signing import new_secret, sign_message
from tests.webhooks.receiver import LOOPBACK, OK, receiver, says

SECRET = new_secret()
BODY = '{"id":"1","type":"webhook.test","sequence":7,"data":{"name":"₹"}}'.encode()
COMMANDS = {"python": [sys.executable], "node": ["node"]}


@pytest.fixture
def page(db: None) -> str:
    return Client().get("/docs/webhooks").content.decode()


def sample(page: str, name: str) -> str:
    match = re.search(rf'<pre id="{name}">(.*?)</pre>', page, re.DOTALL)
    assert match is not None
    return unescape(match[1])


def headers(*secrets: str, id: str = "m1", at: int | None = None) -> dict[str, str]:
    moment = int(time.time()) if at is None else at
    return {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(moment),
        "webhook-signature": sign_message(secrets, id=id, at=moment, body=BODY),
    }


def test_the_example_on_the_page_can_be_recalculated(page: str) -> None:
    head, _, body = sample(page, "message").partition("\n\n")
    sent = dict(line.split(": ", 1) for line in head.splitlines()[1:])
    secret = re.search(r'<code id="secret">(.*?)</code>', page)
    assert secret is not None
    at = datetime.fromtimestamp(int(sent["webhook-timestamp"]), tz=UTC)
    verifier = Webhook(unescape(secret[1]))
    assert sent["webhook-signature"] == verifier.sign(sent["webhook-id"], at, body)
    assert json.loads(body)["id"] == sent["webhook-id"]


def test_the_page_lists_every_type_and_every_failure_and_loads_nothing(page: str) -> None:
    assert [value for value in EventType if f"<code>{value}</code>" not in page] == []
    assert set(FAILURE_MEANINGS) == set(Failure)
    assert [value for value in Failure if f"<code>{value}</code>" not in page] == []
    assert re.findall(r"(?:src=|<link|<script|@import|url\()", page) == []


@contextmanager
def running(command: list[str], file: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Yield the URL of the running sample."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, "WEBHOOK_SECRET": SECRET, "PORT": str(port)}
    process = subprocess.Popen(
        [*command, str(file)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        url = f"http://127.0.0.1:{port}/"
        while send(url, body=b"", headers={}, exemptions=LOOPBACK).error == Failure.REFUSED:
            assert process.poll() is None
        yield url, process
    finally:
        process.terminate()
        process.communicate(timeout=10)


@pytest.mark.parametrize("language", ["python", "node"])
def test_the_receiver_accepts_our_signatures_and_no_others(
    language: str, page: str, tmp_path: Path
) -> None:
    command = COMMANDS[language]
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} on this machine")
    file = tmp_path / {"python": "receiver.py", "node": "receiver.mjs"}[language]
    file.write_text(sample(page, language))
    with running(command, file) as (url, process):

        def status(sent: dict[str, str], body: bytes = BODY) -> int | None:
            return send(url, body=body, headers=sent, exemptions=LOOPBACK).status

        good = headers(SECRET)
        assert status(good) == 204
        assert status(good) == 204  # the same message again
        assert status(headers(new_secret(), SECRET, id="m2")) == 204
        assert status(headers(new_secret())) == 401
        assert status(good, BODY + b" ") == 401
        assert status(good | {"webhook-id": "m3"}) == 401
        assert status(headers(SECRET, at=int(time.time()) - 400)) == 401
        for lost in ("webhook-id", "webhook-timestamp", "webhook-signature"):
            assert status({name: good[name] for name in good if name != lost}) == 401
        assert status(good | {"webhook-timestamp": "soon"}) == 401
        assert status(good | {"webhook-signature": "garbage v1, v1,%%% v2,a"}) == 401
        process.terminate()
        lines = process.communicate(timeout=10)[0].splitlines()
    assert [line.split()[:2] for line in lines] == [["webhook.test", "7"]] * 2


@pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("openssl")), reason="no curl or no openssl here"
)
def test_the_message_of_the_shell_is_signed_like_ours(page: str, tmp_path: Path) -> None:
    file = tmp_path / "send.sh"
    file.write_text(sample(page, "curl"))
    with receiver(says(OK)) as listening:
        sent = subprocess.run(
            ["sh", str(file), listening.url],
            env={**os.environ, "WEBHOOK_SECRET": SECRET},
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
    assert sent.stdout == "200\n"
    head, _, body = listening.requests[0].partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    assert Webhook(SECRET).verify(body, headers)["type"] == "webhook.test"
