"""The address guard: spellings of a URL, and addresses of its name."""

import socket
from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.webhooks.sending.address_guard import (
    Exemptions,
    IPAddress,
    NotPublic,
    NotReachable,
    Target,
    Unresolvable,
    UrlRejected,
    is_public,
    parse_url,
    resolve_target,
)
from tests.webhooks.webhook_urls import ACCEPTED, BY_HOST, BY_NAME_SERVER, BY_SPELLING

NONE = Exemptions()
LOOPBACK = Exemptions(networks=[ip_network("127.0.0.0/8"), ip_network("::1")], http=True)


def check(url: str, exemptions: Exemptions = NONE) -> tuple[Target, Sequence[IPAddress]]:
    target = parse_url(url, exemptions)
    return target, resolve_target(target, name_server, within=5)


def name_server(name: str, within: float) -> Sequence[IPAddress]:
    if name == "unknown.example.com":
        raise Unresolvable
    answers = {urlsplit(url).hostname: texts for url, texts in BY_NAME_SERVER.items()}
    return [ip_address(text) for text in answers.get(name, ["93.184.216.34"])]


def refusal(url: str, exemptions: Exemptions = NONE) -> str:
    """Return the reason of the rejection, empty if it is accepted."""
    try:
        check(url, exemptions)
    except UrlRejected as rejection:
        return str(rejection)
    return ""


def test_every_bad_url_is_refused_with_a_reason() -> None:
    bad = [*BY_SPELLING, *BY_HOST, *BY_NAME_SERVER, "https://unknown.example.com/"]
    assert [url for url in bad if not refusal(url)] == []


def test_every_good_url_is_accepted() -> None:
    assert {url: refusal(url) for url in ACCEPTED} == dict.fromkeys(ACCEPTED, "")


def test_a_refusal_does_not_reveal_our_network() -> None:
    reasons = {
        refusal(url)
        for url in (
            *BY_NAME_SERVER,
            "https://unknown.example.com/",
            "https://10.0.0.1/",
            "https://printer.local/",
        )
    }
    assert reasons == {str(NotReachable())}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.com/h", "https://"),
        ("javascript:alert(1)", "https://"),
        ("https://user:pass@example.com/", "password"),
        ("https://example.com/#part", "fragment"),
        ("https://example.com:22/", "443"),
        ("https://0x7f.0.0.1/", "host name"),
        ("https://exa mple.com/", "ASCII"),
        (BY_SPELLING[-1], "2048"),
    ],
)
def test_a_refusal_suggests_a_valid_form(url: str, words: str) -> None:
    assert words in refusal(url)


def test_a_target_has_the_parts_of_its_url() -> None:
    target = parse_url("HTTPS://Sub.Example.co.in?a=%20b;c", NONE)
    assert target == Target("https", "sub.example.co.in", 443, "/?a=%20b;c", None)
    assert target.authority == "sub.example.co.in"
    assert parse_url("https://[2606:4700::1111]/", NONE).authority == "[2606:4700::1111]"


def test_a_name_is_looked_up_once_and_a_literal_never() -> None:
    queried: list[str] = []

    def resolve(name: str, within: float) -> Sequence[IPAddress]:
        queried.append(name)
        return [ip_address("93.184.216.34")]

    for url in ("https://example.com/", "https://8.8.8.8/"):
        resolve_target(parse_url(url, NONE), resolve, within=5)
    assert queried == ["example.com"]


def test_an_exempt_address_may_have_any_port_and_go_without_tls() -> None:
    target, addresses = check("http://127.0.0.1:9000/hook", LOOPBACK)
    assert (target.port, target.authority) == (9000, "127.0.0.1:9000")
    assert addresses == [ip_address("127.0.0.1")]
    assert check("http://127.0.0.1/", LOOPBACK)[0].port == 80
    assert check("https://[::1]:8443/", LOOPBACK)[0].authority == "[::1]:8443"


@pytest.mark.parametrize(
    "url",
    """
        http://localhost:9000/ http://127.1:9000/ http://2130706433/ http://127.0.0.1.:9000/
        http://127.0.0.1:65536/ http://a:b@127.0.0.1/ http://10.0.0.1/ http://8.8.8.8/
        https://8.8.8.8:9000/ http://[::ffff:127.0.0.1]/ https://both.example.com/ ftp://127.0.0.1/
    """.split(),
)
def test_only_canonical_addresses_of_the_networks_are_exempt(url: str) -> None:
    assert refusal(url, LOOPBACK)


def test_networks_without_http_still_ask_for_tls() -> None:
    exemptions = Exemptions(networks=[ip_network("127.0.0.0/8")])
    assert refusal("http://127.0.0.1:9000/", exemptions)
    assert not refusal("https://127.0.0.1:9000/", exemptions)


@given(st.text(max_size=40), st.sampled_from(["", "https://", "http://", "https://127.0.0.1"]))
def test_any_text_is_a_target_or_is_refused(text: str, start: str) -> None:
    try:
        target = parse_url(start + text, NONE)
    except UrlRejected:
        return
    assert target.port == 443
    assert target.literal is None or is_public(target.literal)


@given(st.text(alphabet="0123456789abfxX.:[]%-_", min_size=1, max_size=20))
def test_any_spelling_of_an_address_is_that_address_or_refused(host: str) -> None:
    """Or it is refused: no spelling of an address passes for a name."""
    try:
        target = parse_url(f"https://{host}/", NONE)
    except UrlRejected:
        return
    if target.literal is None:
        with pytest.raises(OSError, match=r"\w"):
            socket.getaddrinfo(target.host, 443, flags=socket.AI_NUMERICHOST)


@pytest.mark.parametrize(
    "form",
    [
        "::{:x}:{:x}",
        "::ffff:{:x}:{:x}",
        "::ffff:0:{:x}:{:x}",
        "64:ff9b::{:x}:{:x}",
        "64:ff9b:1::{:x}:{:x}",
        "2002:{:x}:{:x}::1",
        "2001::{:x}:{:x}",
    ],
)
def test_an_address_that_wraps_another_is_not_public(form: str) -> None:
    for wrapped in ("127.0.0.1", "169.254.169.254", "10.0.0.1", "8.8.8.8"):
        high, low = divmod(int(ip_address(wrapped)), 1 << 16)
        assert not is_public(ip_address(form.format(high, low)))


def test_a_name_with_a_private_address_among_public_ones_is_refused() -> None:
    with pytest.raises(NotPublic):
        check("https://both.example.com/")
