"""The addresses of a name, as the name servers of this machine tell them, within a time.

Not by the system's `getaddrinfo`: it cannot be told how long it may take, it understands addresses
in spellings of its own, and it knows names of /etc/hosts and of the local domain, which are none of
the public internet.
"""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING

from apps.webhooks.public_addresses import Address
from apps.webhooks.targets import Unresolvable

if TYPE_CHECKING:
    from dns.resolver import Resolver


def look_up(name: str, within: float, *, resolver: "Resolver | None" = None) -> Sequence[Address]:
    """All its IPv4 addresses, then all its IPv6 addresses; `within` is in seconds.

    Raises Unresolvable: unknown, without addresses, no answer in time. Half an answer is none.
    """
    # Imported here: a tenth of a second that only those pay who look names up.
    from dns.exception import DNSException
    from dns.resolver import Resolver

    try:
        # With the dot at its end it is the whole name, and no local domain is tried.
        found = (resolver or Resolver()).resolve_name(f"{name}.", lifetime=within, search=False)
    except DNSException:
        raise Unresolvable from None
    addresses = [ip_address(text) for text in found.addresses()]
    return sorted(addresses, key=lambda address: address.version)
