"""Hostile receivers, many at once: every attempt ends, and nothing remains."""

import os
import random
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from apps.webhooks.lifecycle import Failure
from apps.webhooks.sending import http
from apps.webhooks.sending.http import MOST_BYTES_READ, SendResult, send
from tests.webhooks.certificates import Authority
from tests.webhooks.receiver import (
    LOOPBACK,
    OK,
    Behaviour,
    goes_on_with,
    receiver,
    resets_after,
    says,
    says_nothing,
)

pytestmark = pytest.mark.slow

PIECES = (
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 101 Switch\r\n\r\n",
    b"HTTP/1.1 304 Same\r\n",
    b"HTTP/9.9 999 \xff\r\n",
    b"HTTP/1.1 -1 No\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: -5\r\n",
    b"Content-Length: 5, 6\r\n",
    b"Content-Length: " + b"9" * 5000 + b"\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Retry-After: \xff\r\n",
    b"Location: http://127.0.0.1:1/\r\n",
    b" folded\r\n",
    b": nameless\r\n",
    b"A: \x00\r\n",
    b"Connection: upgrade\r\n",
    b"\r\n",
    b"\r\n",
    b"5\r\nhello\r\n",
    b"0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"-1\r\n",
    b"5;" + b"x" * 9000 + b"\r\n",
    b"hello",
    b"\x00" * 9,
    b"x" * 70_000,
)


def post(url: str) -> SendResult:
    return send(url, body=b"{}", headers={"webhook-id": "m1"}, exemptions=LOOPBACK)


def babble(random_one: random.Random) -> Behaviour:
    """Send a valid start of an answer more often than not, then anything, and end anyhow."""
    parts = [PIECES[0]] * (random_one.random() < 0.7)
    parts += random_one.choices(PIECES, k=random_one.randrange(12))
    ends: list[Callable[[bytes], Behaviour]] = [
        says,
        resets_after,
        lambda start: goes_on_with(start, b"x", every=0.2),
    ]
    return random_one.choice(ends)(b"".join(parts))


def test_no_answer_whatsoever_breaks_the_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TOTAL_SECONDS", 1.0)
    chance = random.Random(8)
    with receiver(*(babble(chance) for _ in range(3000))) as listening:
        with ThreadPoolExecutor(64) as threads:
            answers = list(threads.map(lambda _: post(listening.url), range(3000)))
        assert listening.connections == 3000
    outcomes = Counter(answer.error for answer in answers)
    assert outcomes.keys() >= {
        None,
        Failure.TIMEOUT,
        Failure.RESET,
        Failure.BAD_ANSWER,
        Failure.REDIRECT,
    }
    assert all(answer.status == 200 for answer in answers if answer.error is None)


def test_hostile_receivers_do_not_hinder_good_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "TOTAL_SECONDS", 3.0)
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    http.trusted_authorities.cache_clear()
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"
    bad = (
        says_nothing,
        goes_on_with(b"HTTP/1.1 200 OK\r\nA: ", b"x", every=0.05),
        goes_on_with(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n" * 1000),
        goes_on_with(endless, b"x", every=0.05),
        goes_on_with(endless, b"x" * 65_536),
        resets_after(endless),
    )
    before = len(os.listdir("/proc/self/fd"))
    with ExitStack() as stack:
        good = stack.enter_context(receiver(says(OK), tls=authority.context("127.0.0.1")))
        plain = stack.enter_context(receiver(*bad))
        covered = stack.enter_context(receiver(*bad, tls=authority.context("127.0.0.1")))
        wrong = stack.enter_context(receiver(says(OK), tls=authority.context("example.com")))
        urls = [f"https://127.0.0.1:{listening.port}/" for listening in (good, covered, wrong)]
        urls.append(plain.url)
        with ThreadPoolExecutor(200) as threads:
            answers = list(threads.map(post, urls * 200))
    assert {answer.error for answer in answers[0::4]} == {None}
    assert {answer.error for answer in answers[2::4]} == {Failure.TLS}
    ends = {Failure.TIMEOUT, Failure.BAD_ANSWER, Failure.RESET}
    assert {answer.error for answer in answers[1::4] + answers[3::4]} == ends
    assert len(good.requests) == 200
    assert not wrong.requests
    assert len(os.listdir("/proc/self/fd")) <= before + threading.active_count()
    http.trusted_authorities.cache_clear()


def test_a_response_of_a_gigabyte_takes_no_memory() -> None:
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"
    with receiver(goes_on_with(endless, b"x" * 65_536)) as listening:
        post(listening.url)
        tracemalloc.start()
        for _ in range(20):
            assert post(listening.url).error == Failure.BAD_ANSWER
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most < 20 * MOST_BYTES_READ


@pytest.mark.timeout(60)
def test_a_receiver_sending_a_byte_each_second_is_given_up_after_fifteen() -> None:
    slow = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    with receiver(goes_on_with(slow, b"x", every=1)) as listening:
        answer = post(listening.url)
    assert (answer.status, answer.error) == (200, Failure.TIMEOUT)
    assert answer.seconds >= http.TOTAL_SECONDS
