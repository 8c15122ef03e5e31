"""A separate network for a database, which can be cut: packets are lost silently."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

NAMESPACE: Final = "algotrade-faults"
NEAR, FAR = ("10.213.7.1", "10.213.7.2")
NEAR_LINK, FAR_LINK = ("algofault0", "algofault1")
PORT: Final = 5432
# Hands connections of TCP on to a Unix socket: the embedded PostgreSQL listens on no network.
FORWARD: Final = """
import asyncio, sys

async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()

async def forward(reader, writer):
    server_reader, server_writer = await asyncio.open_unix_connection(sys.argv[2])
    await asyncio.gather(copy(reader, server_writer), copy(server_reader, writer))

async def main():
    server = await asyncio.start_server(forward, sys.argv[1], 5432)
    print("listening", flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def _ip(*words: str, check: bool = True) -> bool:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.returncode == 0


@dataclass(frozen=True, slots=True)
class Network:
    """The address of the database, until the network is cut."""

    host: str = FAR
    port: int = PORT

    def cut(self) -> None:
        _ip("netns", "exec", NAMESPACE, "ip", "link", "set", FAR_LINK, "down")

    def mend(self) -> None:
        _ip("netns", "exec", NAMESPACE, "ip", "link", "set", FAR_LINK, "up")


@contextmanager
def network_to(socket: Path) -> Iterator[Network]:
    """Reach a Unix socket over a network; skip the test if none can be made."""
    try:
        may_make = _ip("netns", "add", NAMESPACE, check=False)
    except FileNotFoundError:
        may_make = False
    if not may_make:
        pytest.skip("no network namespace can be made here: that takes root and iproute2")
    try:
        _ip("link", "add", NEAR_LINK, "type", "veth", "peer", "name", FAR_LINK, "netns", NAMESPACE)
        _ip("addr", "add", f"{NEAR}/30", "dev", NEAR_LINK)
        _ip("link", "set", NEAR_LINK, "up")
        _ip("netns", "exec", NAMESPACE, "ip", "addr", "add", f"{FAR}/30", "dev", FAR_LINK)
        _ip("netns", "exec", NAMESPACE, "ip", "link", "set", FAR_LINK, "up")
        # A cut network does not say that nobody is there, as a missing neighbour would.
        address = _hardware_address()
        _ip("neigh", "replace", FAR, "lladdr", address, "dev", NEAR_LINK, "nud", "permanent")
        command = ["ip", "netns", "exec", NAMESPACE, sys.executable, "-c", FORWARD, FAR]
        with subprocess.Popen([*command, str(socket)], stdout=subprocess.PIPE, text=True) as proxy:
            assert proxy.stdout is not None
            assert proxy.stdout.readline().strip() == "listening"
            try:
                yield Network()
            finally:
                proxy.kill()
    finally:
        _ip("netns", "del", NAMESPACE)
        _ip("link", "del", NEAR_LINK, check=False)


def _hardware_address() -> str:
    done = subprocess.run(
        ["ip", "netns", "exec", NAMESPACE, "cat", f"/sys/class/net/{FAR_LINK}/address"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
