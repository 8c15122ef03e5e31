"""The address guard: webhooks go only to public servers, by https on port 443.

A URL is parsed once, here, by rules that accept one spelling of everything. Spellings that
browsers, resolvers and Python understand differently are rejected. A literal address has to be
public. A host name is resolved once, all of its addresses must be public, and the connection is
made to one of those very addresses (config/decisions/0026).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from django.conf import settings

from apps.webhooks.models import MAX_URL_LENGTH

if TYPE_CHECKING:
    from dns.resolver import Resolver

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network
# Return the addresses of a host name, resolved within this many seconds. Raise Unresolvable.
Resolve = Callable[[str, float], Sequence[IPAddress]]

# Of a URL in lower case: no userinfo, no zone, nothing percent-encoded, nothing but ASCII.
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::(?P<port>[1-9][0-9]{0,4}))?")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z)(?:{_LABEL}\.)+{_LABEL}")
# Resolvers take these for an IPv4 address (url.spec.whatwg.org, "ends in a number").
_ENDS_IN_A_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?", re.DOTALL)
# Last labels that are not part of the public internet (RFC 6761, 6762, 9476, ICANN).
_RESERVED_DOMAINS: Final = (
    "localhost",
    "local",
    "localdomain",
    "internal",
    "home",
    "lan",
    "corp",
    "test",
    "invalid",
    "example",
    "onion",
    "alt",
    "arpa",
)
_PORTS: Final = {"https": 443, "http": 80}


class UrlRejected(Exception):
    """The URL may not be called. The text of the error tells the user why."""


class NotEncrypted(UrlRejected):
    """The scheme is not https."""

    def __init__(self) -> None:
        super().__init__("Use a URL that begins with https://.")


class NotAHost(UrlRejected):
    """The host is neither a name nor the canonical spelling of an address."""

    def __init__(self) -> None:
        super().__init__(
            "Use a host name such as hooks.example.com, or an address such as 8.8.8.8 or "
            "[2606:4700::1111], with port 443 or none."
        )


class NotReachable(UrlRejected):
    """The host is not on the public internet.

    Private, forbidden and unknown hosts share one text, so that a stranger cannot explore our
    network.
    """

    def __init__(self) -> None:
        super().__init__("Its host must be a server on the public internet.")


class NotPublic(NotReachable):
    """The host has an address that is not public."""


class Unresolvable(NotReachable):
    """The host name has no known address."""


@dataclass(frozen=True, slots=True)
class Exemptions:
    """Addresses that may be called although they are not public, for development.

    Literal addresses of `networks` may be called at any port, and without TLS if `http`. Host names
    are never exempt, because the owner of a name chooses its address.
    """

    networks: Sequence[IPNetwork] = ()
    http: bool = False


def configured_exemptions() -> Exemptions:
    """Return the exemptions of this installation's settings."""
    return Exemptions(networks=settings.WEBHOOK_ALLOW_CIDRS, http=settings.WEBHOOK_ALLOW_HTTP)


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that may be called: `scheme` http or https, `host` a name or a literal address (without
    brackets) in lower case, `path` with its query. `literal` is the host's address if it is one.
    """

    scheme: str
    host: str
    port: int
    path: str
    literal: IPAddress | None

    @property
    def authority(self) -> str:
        """The value of the header Host."""
        host = f"[{self.host}]" if isinstance(self.literal, IPv6Address) else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse_url(url: str, exemptions: Exemptions) -> Target:
    """Return the target that a URL names, without resolving its host. Raises UrlRejected."""
    if len(url) > MAX_URL_LENGTH:
        raise UrlRejected(f"Use at most {MAX_URL_LENGTH} characters.")
    if not all("!" <= character <= "~" and character != "\\" for character in url):
        raise UrlRejected(
            "Use ASCII without spaces and backslashes; write other letters percent-encoded, "
            "and in a host as Punycode (xn--...)."
        )
    scheme, authority, path = _split(url)
    match = _AUTHORITY.fullmatch(authority)
    port = int(match["port"]) if match and match["port"] else None
    if match is None or (port or 0) > 65_535:
        raise NotAHost
    host = match["host"].strip("[]")
    literal = _literal(host)
    is_exempt = literal is not None and any(literal in network for network in exemptions.networks)
    if scheme == "http" and not (is_exempt and exemptions.http):
        raise NotEncrypted
    if not is_exempt:
        _require_public(host, literal)
        if port not in (None, 443):
            raise UrlRejected("Use port 443, or leave it out.")
    return Target(scheme, host, port or _PORTS[scheme], path, literal)


def _split(url: str) -> tuple[str, str, str]:
    """Return scheme, authority in lower case, and path with query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise UrlRejected("This is not a URL.") from None
    if parts.scheme not in _PORTS:
        raise NotEncrypted
    if "#" in url:
        raise UrlRejected("Leave out the fragment, the part from # on.")
    if "@" in parts.netloc:
        raise UrlRejected("Leave out user name and password; the signature proves the sender.")
    query = f"?{parts.query}" if parts.query else ""
    return parts.scheme, parts.netloc.lower(), (parts.path or "/") + query


def _literal(host: str) -> IPAddress | None:
    """Return the address if the host is one in canonical spelling; None for a host name."""
    if ":" not in host and not _ENDS_IN_A_NUMBER.fullmatch(host):
        return None
    try:
        address = ip_address(host)
    except ValueError:
        raise NotAHost from None
    if str(address) != host:
        raise NotAHost
    return address


def _require_public(host: str, literal: IPAddress | None) -> None:
    if literal is not None:
        if not is_public(literal):
            raise NotPublic
    elif _HOST_NAME.fullmatch(host) is None:
        raise NotAHost
    elif host.rpartition(".")[2] in _RESERVED_DOMAINS:
        raise NotPublic


# Python's own `is_global` is not enough: its ranges depend on the version, and it accepts addresses
# that wrap another one (NAT64, 6to4, Teredo) or are shared (multicast). So an address must pass
# both it and the ranges here. Source: the IANA registries of special-purpose addresses,
# iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry.
_SPECIAL_V4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        # Azure answers every virtual machine here about itself, from an address that looks public.
        "168.63.129.16/32",
    )
)
# All that IANA has allocated for unicast; the rest is nobody's or wraps another address.
_ALLOCATED_V6: Final = IPv6Network("2000::/3")
_SPECIAL_V6: Final = tuple(
    IPv6Network(text)
    for text in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)


def is_public(address: IPAddress) -> bool:
    """Return whether an address is on the public internet."""
    if not address.is_global:
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _SPECIAL_V4)
    return address in _ALLOCATED_V6 and not any(address in network for network in _SPECIAL_V6)


def resolve_target(target: Target, resolve: Resolve, within: float) -> Sequence[IPAddress]:
    """Return the addresses for the connection. Raises NotPublic and Unresolvable."""
    if target.literal is not None:
        return [target.literal]
    addresses = resolve(target.host, within)
    if not addresses:
        raise Unresolvable
    if not all(is_public(address) for address in addresses):
        raise NotPublic
    return addresses


def resolve_host(
    name: str, within: float, *, resolver: "Resolver | None" = None
) -> Sequence[IPAddress]:
    """Return all IPv4 addresses of a host name, then all IPv6 addresses, within this many seconds.

    The system's `getaddrinfo` is not used: it has no timeout, accepts unusual spellings of
    addresses, and knows names of /etc/hosts and of the local domain. Raises Unresolvable for an
    unknown name, a name without addresses, and an answer that is not complete in time.
    """
    # Imported here: a tenth of a second that only those pay who look names up.
    from dns.exception import DNSException
    from dns.resolver import Resolver

    try:
        # The dot at the end makes it the whole name, so that no local domain is tried.
        answer = (resolver or Resolver()).resolve_name(f"{name}.", lifetime=within, search=False)
    except DNSException:
        raise Unresolvable from None
    addresses = [ip_address(text) for text in answer.addresses()]
    return sorted(addresses, key=lambda address: address.version)
