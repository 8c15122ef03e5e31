"""The web processes: one listening socket, and forks of one process that serve.

While one of them is replaced, the others serve, or connections wait at the socket. On SIGTERM each
finishes its requests within a few seconds.
"""

import asyncio
import resource
import signal
import socket
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

import uvicorn

from apps.core import machine
from apps.ops.database import timeouts
from apps.ops.processes import presence
from apps.ops.processes.reaper import reaping
from apps.ops.processes.supervisor import Child, Heartbeat

if TYPE_CHECKING:
    from apps.ops.web.handler import Handler

# Connections that the kernel keeps until a process takes them.
BACKLOG: Final = 2048
# A computing thread gives the interpreter up so often: the event loop needs it several times for
# each request, and would else wait 5 ms each time while a page is rendered.
SWITCH_INTERVAL: Final = 0.0005
_MOST_FILES: Final = 65_536
# From an answer to the next request.
_SECONDS_KEPT_ALIVE: Final = 5
# For the requests that are being answered when the service stops.
_SECONDS_TO_FINISH: Final = 3
_SECONDS_BETWEEN_BEATS: Final = 1.0


class Server(uvicorn.Server):
    """uvicorn's server; when it stops, it ends waiting answers."""

    def __init__(self, application: "Handler") -> None:
        """Logging comes from the settings; the application determines the client's address."""
        super().__init__(
            uvicorn.Config(
                application,
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=_SECONDS_KEPT_ALIVE,
                timeout_graceful_shutdown=_SECONDS_TO_FINISH,
            )
        )
        self._waiting = application.waiting

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._waiting.stop()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """Open the socket for all processes. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    takes_both = host == "::" and socket.has_dualstack_ipv6()
    listener = socket.create_server(
        (host, port), family=family, backlog=BACKLOG, dualstack_ipv6=takes_both
    )
    # Connections inherit it: head and body of an answer leave in two parts.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def allow_many_files() -> None:
    """Raise the limit of open files: every connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def web_children(application: "Handler", listener: socket.socket, *, count: int) -> list[Child]:
    """Return the web processes; all of them accept connections of `listener`."""
    return [_child(application, listener, number) for number in range(count)]


def _child(application: "Handler", listener: socket.socket, number: int) -> Child:
    heartbeat = Heartbeat()
    run = partial(serve, application, listener, heartbeat, number)
    return Child("web", run, descriptors=[listener.fileno()], heartbeat=heartbeat)


def serve(
    application: "Handler", listener: socket.socket, heartbeat: Heartbeat, number: int
) -> None:
    """Serve requests until SIGTERM, as the web process of this number.

    Three measures keep concurrent requests fast (decision 0010): one processor for all threads, a
    short switch interval, and `gc.freeze`, which the supervisor calls before it forks.
    """
    machine.bind_to_processor(number)
    sys.setswitchinterval(SWITCH_INTERVAL)
    allow_many_files()
    timeouts.apply(timeouts.WEB)
    server = Server(application)
    # uvicorn raises the signal again at its end; the default action would end the process before it
    # leaves the list of expected processes.
    for stop_signal in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop_signal, server.handle_exit)
    application.tasks.append(partial(keep_beating, heartbeat))
    with presence.present("web") as report, reaping(report):
        server.run(sockets=[listener])


async def keep_beating(heartbeat: Heartbeat) -> None:
    """Show the supervisor that the event loop runs."""
    while True:
        heartbeat.beat()
        await asyncio.sleep(_SECONDS_BETWEEN_BEATS)
