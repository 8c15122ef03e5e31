"""The web processes: one listening socket, Django loaded once, and forks that serve.

A process that ends is forked again, one that hangs is killed, and the others serve meanwhile. On
SIGTERM each finishes its requests within a few seconds. A fork ends when its parent is gone.
"""

import errno
import gc
import logging
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import time
from types import FrameType
from typing import Final

import uvicorn
from django.conf import settings

from apps.ops.supervisor import STOP_SIGNALS
from apps.ops.web.application import Application
from apps.ops.web.http_protocol import SECONDS_KEPT_ALIVE, HttpProtocol

# Connections that the kernel keeps until a process takes them.
BACKLOG: Final = 2048
SEND_BUFFER: Final = 256 * 1024
# Connections that a process accepts before it does anything else, or leaves some to others.
ACCEPTED_AT_ONCE: Final = 8
_MOST_FILES: Final = 65_536
# For the requests that are being answered when the service stops.
_SECONDS_TO_FINISH: Final = 4
SECONDS_TO_HANG: Final = 30.0
# The forks of a server that was killed may hold the port for so long.
SECONDS_TO_BIND: Final = 10.0
# A computing thread gives the interpreter up so often: the event loop needs it several times for
# each request, and would else wait 5 ms each time while a page is rendered.
SWITCH_INTERVAL: Final = 0.0005
_POLL_SECONDS: Final = 0.1
# A process that lives no longer than this is forked again after as long a pause.
SHORT_LIFE: Final = 1.0

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


class Processes:
    """The forks that serve requests."""

    def __init__(self, listener: socket.socket, *, application: Application, count: int) -> None:
        self._listener = listener
        self._application = application
        self._parent = os.getpid()
        # By number, when it was forked; of one that has ended, when it may be forked again.
        self._started: dict[int, float] = {}
        self._pids: dict[int, int] = {}
        # When each process was last alive, in memory that all of them share.
        self._heartbeats = mmap.mmap(-1, 8 * count)
        self._count = count
        self._is_stopping = False

    def run(self) -> None:
        """Serve until SIGTERM, SIGINT or SIGHUP; return when all forks have ended."""
        for stop_signal in STOP_SIGNALS:
            signal.signal(stop_signal, self._on_signal)
        while not self._is_stopping:
            self._reap()
            for number in range(self._count):
                self._restart_if_needed(number)
            time.sleep(_POLL_SECONDS)
        self._listener.close()
        self._send(signal.SIGTERM)
        while self._pids:
            self._reap()
            time.sleep(_POLL_SECONDS)

    def _restart_if_needed(self, number: int) -> None:
        now = time.monotonic()
        if number not in self._pids:
            if now >= self._started.get(number, 0.0):
                self._fork(number, now)
        elif now - self._heartbeat(number) > SECONDS_TO_HANG:
            log.error("a web process hangs: it is killed")
            os.kill(self._pids[number], signal.SIGKILL)

    def _fork(self, number: int, now: float) -> None:
        self._beat(number)
        pid = os.fork()
        if not pid:
            self._serve(number)
        self._pids[number], self._started[number] = pid, now

    def _reap(self) -> None:
        """Collect the forks that have ended."""
        for number, pid in list(self._pids.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            del self._pids[number]
            if not self._is_stopping:
                log.error("a web process ended (%d): another takes its place", status)
                lived = time.monotonic() - self._started[number]
                pause = SHORT_LIFE if lived < SHORT_LIFE else 0.0
                self._started[number] = time.monotonic() + pause

    def _serve(self, number: int) -> None:
        """Serve in a fork; does not return."""
        try:
            for stop_signal in STOP_SIGNALS:
                signal.signal(stop_signal, signal.SIG_DFL)
            sys.setswitchinterval(SWITCH_INTERVAL)
            server = Server(self._application)

            async def notify() -> None:
                self._beat(number)
                if os.getppid() != self._parent:
                    server.should_exit = True

            server.config.callback_notify = notify
            server.run(sockets=[self._listener])
        except BaseException:
            log.exception("a web process failed")
            os._exit(1)
        os._exit(0)

    def _heartbeat(self, number: int) -> float:
        (moment,) = struct.unpack_from("d", self._heartbeats, 8 * number)
        return float(moment)

    def _beat(self, number: int) -> None:
        struct.pack_into("d", self._heartbeats, 8 * number, time.monotonic())

    def _send(self, number: signal.Signals) -> None:
        for pid in self._pids.values():
            os.kill(pid, number)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._is_stopping = True


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


def serve(application: Application) -> None:
    """Serve the application at HOST and PORT until the process is told to stop."""
    allow_many_files()
    try:
        listener = listen(settings.HOST, settings.PORT)
    except OSError as error:
        sys.exit(f"error: {settings.HOST}:{settings.PORT}: {error.strerror}")
    gc.freeze()  # the garbage collector must not touch, and so copy, what the forks share
    Processes(listener, application=application, count=settings.WEB_WORKERS).run()
