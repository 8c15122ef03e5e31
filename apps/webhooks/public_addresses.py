"""Which IP addresses are of the public internet: all others are ours, a neighbour's or nobody's.

Python's own `is_global` is not enough: which ranges it knows depends on the version, and addresses
that wrap another one (NAT64, 6to4, Teredo) or are shared (multicast) pass for global. So an address
must pass both it and the ranges here. Source: the IANA registries of special-purpose addresses,
iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_SPECIAL_V4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
        "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
        "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        # Azure answers every virtual machine here about itself, from an address that looks public.
        "168.63.129.16/32",
    )
)  # fmt: skip
_GIVEN_OUT_V6: Final = IPv6Network("2000::/3")
"""All that IANA has given out for unicast; whatever is outside it is nobody's or wraps another."""
_SPECIAL_V6: Final = tuple(
    IPv6Network(text)
    for text in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)


def is_public(address: Address) -> bool:
    if not address.is_global:
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _SPECIAL_V4)
    return address in _GIVEN_OUT_V6 and not any(address in network for network in _SPECIAL_V6)
