"""The address of the client, with trusted proxies in front of the service.

A forwarding header counts only if the peer is trusted. It is read from the right, where our own
proxies write, so entries that a client wrote are never reached.
"""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

Address = IPv4Address | IPv6Address
Networks = Sequence[IPv4Network | IPv6Network]

MOST_HOPS: Final = 20


def client_address(peer: str, forwarded_for: str, trusted: Networks) -> str | None:
    """Return the client's address; None when the peer has none (a Unix socket).

    `peer` is the socket's address; `forwarded_for` is all X-Forwarded-For lines, joined by commas.
    Reading stops at an unreadable entry; the last good one is the client.
    """
    client = _read(peer)
    if client is None:
        return None
    for entry in reversed(forwarded_for.split(",")[-MOST_HOPS:]):
        if not _is_in(client, trusted) or (hop := _read(entry)) is None:
            break
        client = hop
    return str(client)


def is_trusted(peer: str, trusted: Networks) -> bool:
    """Return whether the peer, by its socket's address, is one of our proxies."""
    address = _read(peer)
    return address is not None and _is_in(address, trusted)


@lru_cache(maxsize=1024)
def network_of(address: str) -> str:
    """Return the network that limits count: an IPv4 address, or the /64 of an IPv6 address, because
    its owner usually has the whole /64.
    """
    known = _read(address)
    is_long = isinstance(known, IPv6Address)
    return str(ip_network(f"{known}/64", strict=False)) if is_long else str(known or address)


@lru_cache(maxsize=1024)
def provider_network_of(address: str) -> str:
    """Return a guess at the network from which a provider assigns addresses: /24 of IPv4, /64 of
    IPv6.
    """
    known = _read(address)
    if known is None:
        return address
    return str(ip_network(f"{known}/{24 if known.version == 4 else 64}", strict=False))


def read_network(text: str) -> str:
    """Return a network for comparison with clients' addresses: host bits cleared, and an IPv4
    network mapped into IPv6 as IPv4. Raises ValueError.
    """
    network = ip_network(text)
    if isinstance(network, IPv4Network):
        return str(network)
    if network.network_address.scope_id is not None:
        raise ValueError("a zone has a meaning only on one machine")
    mapped = network.network_address.ipv4_mapped
    return str(network) if mapped is None else f"{mapped}/{network.prefixlen - 96}"


def is_in_networks(address: str | None, networks: Sequence[str]) -> bool:
    """Return whether an address lies in one of the networks; an unreadable address lies in none."""
    known = _read(address or "")
    return known is not None and _is_in(known, [ip_network(network) for network in networks])


def _is_in(address: Address, networks: Networks) -> bool:
    return any(address in network for network in networks)


@lru_cache(maxsize=1024)
def _read(text: str) -> Address | None:
    """Read an address, perhaps with brackets and a port; an IPv4 address mapped into IPv6 becomes
    IPv4.
    """
    host = text.strip()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
