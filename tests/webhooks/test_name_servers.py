"""Name resolution by the tests' own name server."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
from dns.resolver import Resolver

from apps.webhooks.sending.address_guard import Unresolvable, resolve_host

ZONE = {
    ("one.example.com.", "A"): ["93.184.216.34"],
    ("both.example.com.", "A"): ["93.184.216.34", "10.0.0.1"],
    ("both.example.com.", "AAAA"): ["2606:4700::1111"],
}
BROKEN, SILENT = "broken.example.com.", "silent.example.com."


@contextmanager
def name_server() -> Iterator[tuple[Resolver, list[str]]]:
    """Return a resolver that asks it, and the queried names."""
    queried: list[str] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        bound.settimeout(5)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    data, client = bound.recvfrom(4096)
                    question = dns.message.from_wire(data)
                    queried.append(str(question.question[0].name))
                    if queried[-1] != SILENT:
                        bound.sendto(_answer(question).to_wire(), client)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        resolver = Resolver(configure=False)
        resolver.nameservers, resolver.port = ["127.0.0.1"], bound.getsockname()[1]
        yield resolver, queried


def _answer(question: dns.message.Message) -> dns.message.Message:
    made = dns.message.make_response(question)
    made.flags |= dns.flags.RA
    name, kind = question.question[0].name, dns.rdatatype.to_text(question.question[0].rdtype)
    if str(name) == BROKEN and kind == "A":
        made.set_rcode(dns.rcode.SERVFAIL)
    elif name.to_text() not in {known for known, _ in ZONE} | {BROKEN, "empty.example.com."}:
        made.set_rcode(dns.rcode.NXDOMAIN)
    for text in ZONE.get((str(name), kind), []):
        made.answer.append(dns.rrset.from_text(name, 60, "IN", kind, text))
    return made


def test_a_name_has_all_its_addresses() -> None:
    with name_server() as (resolver, queried):
        addresses = resolve_host("both.example.com", 5, resolver=resolver)
        assert [str(address) for address in addresses] == [
            "93.184.216.34",
            "10.0.0.1",
            "2606:4700::1111",
        ]
        assert [
            str(address) for address in resolve_host("one.example.com", 5, resolver=resolver)
        ] == ["93.184.216.34"]
    assert set(queried) == {"both.example.com.", "one.example.com."}


@pytest.mark.parametrize("name", ["unknown", "empty", "broken"])
def test_a_name_without_an_answer_is_unresolvable(name: str) -> None:
    with name_server() as (resolver, _), pytest.raises(Unresolvable):
        resolve_host(f"{name}.example.com", 5, resolver=resolver)


def test_the_client_does_not_wait_for_a_silent_name_server() -> None:
    with name_server() as (resolver, queried), pytest.raises(Unresolvable):
        resolve_host(SILENT.rstrip("."), 0.2, resolver=resolver)
    assert queried == [SILENT]  # and not once more after the two seconds that a server gets
