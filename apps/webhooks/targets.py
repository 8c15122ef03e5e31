"""Where a webhook may be sent: a public server, by https on 443, and nothing that looks like one.

A URL is read once, here, by rules that know one spelling of everything: what browsers, resolvers
and Python understand differently is refused instead of guessed at. A literal address has to be
public by itself; a name's addresses are looked up once, all of them must be public, and the
connection is made to one of those very addresses (config/decisions/0026).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final
from urllib.parse import urlsplit

from apps.webhooks.public_addresses import Address, Network, is_public

LONGEST: Final = 2048
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::(?P<port>[1-9][0-9]{0,4}))?")
"""Of a URL in lower case: no userinfo, no zone, nothing percent-encoded, nothing but ASCII."""
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z)(?:{_LABEL}\.)+{_LABEL}")
_ENDS_IN_A_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?", re.DOTALL)
"""What resolvers take for an IPv4 address, however it is written (url.spec.whatwg.org, "ends in a
number").
"""
_NOBODYS: Final = (
    "localhost", "local", "localdomain", "internal", "home", "lan", "corp", "test", "invalid",
    "example", "onion", "alt", "arpa",
)  # fmt: skip
"""Last labels that are no part of the public internet (RFC 6761, 6762, 9476, ICANN)."""
_PORTS: Final = {"https": 443, "http": 80}


class TargetRefused(Exception):
    """A URL that no webhook is sent to. Its text says why, to whoever gave the URL."""


class NotEncrypted(TargetRefused):
    """Anything but https."""

    def __init__(self) -> None:
        super().__init__("Use a URL that begins with https://.")


class NotAHost(TargetRefused):
    """Neither a host name nor the one spelling of an address."""

    def __init__(self) -> None:
        super().__init__(
            "Use a host name such as hooks.example.com, or an address such as 8.8.8.8 or "
            "[2606:4700::1111], with port 443 or none."
        )


class NotReachable(TargetRefused):
    """Nothing of the public internet. One text for all of these, private, forbidden or unknown:
    else the answer would tell a stranger what there is in our network.
    """

    def __init__(self) -> None:
        super().__init__("Its host must be a server on the public internet.")


class NotPublic(NotReachable):
    """It has an address that is not public."""


class Unresolvable(NotReachable):
    """No address is known for its name."""


@dataclass(frozen=True, slots=True)
class Exemptions:
    """For development: literal addresses of `networks` may be called at any port, and without TLS
    if `http`. Names never are exempt, as whoever owns the name chooses where it leads.
    """

    networks: Sequence[Network] = ()
    http: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that may be called: `scheme` http or https, `host` a name or a literal address (without
    brackets) in lower case, `path` with its query. `literal` is the host's address if it is one.
    """

    scheme: str
    host: str
    port: int
    path: str
    literal: Address | None

    @property
    def authority(self) -> str:
        """The header Host."""
        host = f"[{self.host}]" if isinstance(self.literal, IPv6Address) else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


Resolve = Callable[[str, float], Sequence[Address]]
"""The addresses of a name, found within so many seconds. Raises Unresolvable."""


def parse(url: str, exemptions: Exemptions) -> Target:
    """The target that a URL names. Raises TargetRefused; no name is looked up."""
    if len(url) > LONGEST:
        raise TargetRefused(f"Use at most {LONGEST} characters.")
    if not all("!" <= character <= "~" and character != "\\" for character in url):
        raise TargetRefused(
            "Use ASCII without spaces and backslashes; write other letters percent-encoded, "
            "and in a host as Punycode (xn--...)."
        )
    scheme, authority, path = _parts(url)
    host, port = _host_and_port(authority)
    literal = _literal(host)
    is_exempt = literal is not None and any(literal in network for network in exemptions.networks)
    if scheme == "http" and not (is_exempt and exemptions.http):
        raise NotEncrypted
    if not is_exempt:
        _check_public(host, literal)
        if port not in (None, 443):
            raise TargetRefused("Use port 443, or leave it out.")
    return Target(scheme, host, port or _PORTS[scheme], path, literal)


def addresses_of(target: Target, resolve: Resolve, within: float) -> Sequence[Address]:
    """Where it may be connected to. Raises NotPublic and Unresolvable."""
    if target.literal is not None:
        return [target.literal]
    addresses = resolve(target.host, within)
    if not addresses:
        raise Unresolvable
    if not all(is_public(address) for address in addresses):
        raise NotPublic
    return addresses


def _parts(url: str) -> tuple[str, str, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise TargetRefused("This is not a URL.") from None
    if parts.scheme not in _PORTS:
        raise NotEncrypted
    if "#" in url:
        raise TargetRefused("Leave out the fragment, the part from # on.")
    if "@" in parts.netloc:
        raise TargetRefused("Leave out user name and password; the signature proves the sender.")
    query = f"?{parts.query}" if parts.query else ""
    return parts.scheme, parts.netloc.lower(), (parts.path or "/") + query


def _host_and_port(authority: str) -> tuple[str, int | None]:
    match = _AUTHORITY.fullmatch(authority)
    port = int(match["port"]) if match and match["port"] else None
    if match is None or (port or 0) > 65_535:
        raise NotAHost
    return match["host"].strip("[]"), port


def _literal(host: str) -> Address | None:
    """The address that the host is, in its one canonical spelling; None if it is a name."""
    if ":" not in host and not _ENDS_IN_A_NUMBER.fullmatch(host):
        return None
    try:
        address = ip_address(host)
    except ValueError:
        raise NotAHost from None
    if str(address) != host:
        raise NotAHost
    return address


def _check_public(host: str, literal: Address | None) -> None:
    if literal is not None:
        if not is_public(literal):
            raise NotPublic
    elif _NAME.fullmatch(host) is None:
        raise NotAHost
    elif host.rpartition(".")[2] in _NOBODYS:
        raise NotPublic
