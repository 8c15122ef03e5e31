"""The address a request comes from, when proxies that we trust stand before us.

A forwarding header counts only where the peer itself is trusted; it is walked from the right,
where our own proxies have written, and what a client wrote to the left of them is never reached.
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
    """`peer`: the socket's address; `forwarded_for`: all X-Forwarded-For lines, joined by commas.

    An entry that cannot be read ends the walk: the last good hop is the client then. None when the
    peer has no address (a Unix socket).
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
    """Whether the peer, by its socket's address, is one of our proxies."""
    address = _read(peer)
    return address is not None and _is_in(address, trusted)


@lru_cache(maxsize=1024)
def network_of(address: str) -> str:
    """Return what limits count under: an IPv4 address, and of IPv6 the network of 64 bits, as
    whoever has one address of it has them all.
    """
    known = _read(address)
    is_long = isinstance(known, IPv6Address)
    return str(ip_network(f"{known}/64", strict=False)) if is_long else str(known or address)


@lru_cache(maxsize=1024)
def provider_network_of(address: str) -> str:
    """Return the network from which a provider gives its customers addresses, as far as that can be
    guessed: 24 bits of IPv4, 64 of IPv6.
    """
    known = _read(address)
    if known is None:
        return address
    return str(ip_network(f"{known}/{24 if known.version == 4 else 64}", strict=False))


def read_network(text: str) -> str:
    """Return a network as clients' addresses are compared with it: without bits of a host, and an
    IPv4 network mapped into IPv6 as IPv4. Raises ValueError.
    """
    network = ip_network(text)
    if isinstance(network, IPv4Network):
        return str(network)
    if network.network_address.scope_id is not None:
        raise ValueError("a zone means something on one machine alone")
    mapped = network.network_address.ipv4_mapped
    return str(network) if mapped is None else f"{mapped}/{network.prefixlen - 96}"


def is_in_networks(address: str | None, networks: Sequence[str]) -> bool:
    """Tell whether an address lies in one of the networks; an unknown address lies in none."""
    known = _read(address or "")
    return known is not None and _is_in(known, [ip_network(network) for network in networks])


def _is_in(address: Address, networks: Networks) -> bool:
    return any(address in network for network in networks)


@lru_cache(maxsize=1024)
def _read(text: str) -> Address | None:
    """An address, perhaps with brackets and a port; an IPv4 address mapped into IPv6 is IPv4."""
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
