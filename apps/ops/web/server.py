"""The web processes: one listening socket, and forks of one process that serve.

While one of them is replaced, the others serve, or connections wait at the socket. On SIGTERM each
finishes its requests within a few seconds.
"""

import asyncio
import errno
import logging
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import uvicorn
from django.db import Error, connection
from django.utils import timezone

from apps.core import cpus
from apps.ops import database_timeouts, presence
from apps.ops.supervisor import Child, Heartbeat
from apps.ops.web.application import Application
from apps.ops.web.http_protocol import SECONDS_KEPT_ALIVE, HttpProtocol

# Connections that the kernel keeps until a process takes them.
BACKLOG: Final = 2048
SEND_BUFFER: Final = 256 * 1024
# Connections that a process accepts before it does anything else, or leaves some to others.
ACCEPTED_AT_ONCE: Final = 8
_MOST_FILES: Final = 65_536
# For the requests that are being answered when the service stops.
_SECONDS_TO_FINISH: Final = 3
# The forks of a server that was killed may hold the port for so long.
SECONDS_TO_BIND: Final = 10.0
# A computing thread gives the interpreter up so often: the event loop needs it several times for
# each request, and would else wait 5 ms each time while a page is rendered.
SWITCH_INTERVAL: Final = 0.0005
_POLL_SECONDS: Final = 0.1
_SECONDS_BETWEEN_BEATS: Final = 5.0

log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """uvicorn's server, on a socket that several processes share."""

    def __init__(self, application: Application) -> None:
        super().__init__(uvicorn_config(application))
        self.application = application

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """uvicorn's `backlog` is also how many connections asyncio takes at once."""
        await super().startup(sockets)
        for listener in sockets or []:
            listener.listen(BACKLOG)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.application.stop()
        await super().shutdown(sockets)


def uvicorn_config(application: Application) -> uvicorn.Config:
    """Logging is the settings' own; who a request comes from is for the application to say."""
    return uvicorn.Config(
        application,
        http=HttpProtocol,
        ws="none",
        loop="auto",
        interface="asgi3",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=ACCEPTED_AT_ONCE,
        timeout_keep_alive=int(SECONDS_KEPT_ALIVE),
        timeout_notify=1,
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
    )


def listen(host: str, port: int) -> socket.socket:
    """Open the socket that all processes share. Raises OSError when the port stays taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    takes_both = host == "::" and socket.has_dualstack_ipv6()
    until = time.monotonic() + SECONDS_TO_BIND
    while True:
        try:
            listener = socket.create_server(
                (host, port), family=family, backlog=BACKLOG, dualstack_ipv6=takes_both
            )
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > until:
                raise
            time.sleep(_POLL_SECONDS)
        else:
            # Connections inherit both options. A client that does not read holds no megabytes.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
            # Head and body of an answer leave in two parts.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return listener


def allow_many_files() -> None:
    """Raise the limit of open files: every connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def web_children(application: Application, listener: socket.socket, *, count: int) -> list[Child]:
    """Return the web processes, which all accept connections of `listener`."""
    return [_child(application, listener, number) for number in range(count)]


def _child(application: Application, listener: socket.socket, number: int) -> Child:
    heartbeat = Heartbeat()
    run = partial(serve, application, listener, heartbeat, number)
    return Child("web", run, descriptors=[listener.fileno()], heartbeat=heartbeat)


def serve(
    application: Application, listener: socket.socket, heartbeat: Heartbeat, number: int
) -> None:
    """Serve requests until SIGTERM, as the web process of this number."""
    allow_many_files()
    cpus.bind_to_processor(number)
    sys.setswitchinterval(SWITCH_INTERVAL)
    database_timeouts.apply(database_timeouts.WEB)
    server = Server(application)
    # uvicorn raises the signal again when it has ended; by default that would be the end of the
    # process, which would stay in the list of those that are expected.
    for stop_signal in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop_signal, server.handle_exit)

    with presence.present("web") as tell:
        telling = Telling(tell)

        async def notify() -> None:
            heartbeat.beat()
            telling.poll()

        server.config.callback_notify = notify
        server.run(sockets=[listener])


class Telling:
    """Tells of this process every few seconds, in a thread: the event loop never waits."""

    def __init__(self, beat: Callable[..., int]) -> None:
        self._beat = beat
        self._due = 0.0
        self._last: asyncio.Future[None] | None = None

    def poll(self) -> None:
        now = time.monotonic()
        if now >= self._due and (self._last is None or self._last.done()):
            self._due = now + _SECONDS_BETWEEN_BEATS
            self._last = asyncio.get_running_loop().run_in_executor(None, self._tell)

    def _tell(self) -> None:
        try:
            self._beat(now=timezone.now())
        except Error as error:
            log.debug("nobody hears of this process: %s", error)  # requests say so themselves
        finally:
            connection.close()
