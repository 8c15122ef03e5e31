"""The whole service on one machine, or some of its roles; one Ctrl-C ends all."""

import argparse
import errno
import http.client
import os
import shutil
import signal
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection, connections
from django.utils import timezone

from apps.engine import Compilation
from apps.ops.database import local_postgres
from apps.ops.processes.supervisor import Backoff, Supervisor, name_process
from apps.ops.web import server

if TYPE_CHECKING:
    from apps.ops.service import Roles

MOST_PROCESSES = 64  # of a role
SECONDS_BETWEEN_LOOKS = 1.0  # at the database
MIGRATING = 7_305_461_019  # an advisory lock: of several machines, one migrates and the rest wait


class Command(BaseCommand):
    help = (
        "Run everything: database, web, workers and runners; a role with a count of 0 runs"
        " elsewhere. Ctrl-C stops it, a second Ctrl-C at once."
    )
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        for option, setting in (
            ("--web", "WEB_WORKERS"),
            ("--workers", "BACKTEST_WORKERS"),
            ("--runners", "TRADING_WORKERS"),
        ):
            parser.add_argument(
                option,
                type=count_of_processes,
                default=getattr(settings, setting),
                metavar="N",
                help=f"number of processes, from 0; {setting} unless given",
            )
        parser.add_argument(
            "--sample",
            action="store_true",
            help="load generated candles into an embedded database that has none yet",
        )

    def handle(
        self,
        *args: Any,
        web: int,
        workers: int,
        runners: int,
        sample: bool = False,
        **options: Any,
    ) -> None:
        if not web + workers + runners:
            raise CommandError("there is nothing to run: give --web, --workers or --runners")
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            if web:
                require_free_port()
            with Compilation.started() as compiling, self.database() as keep_database:
                self.prepare(with_sample=sample and settings.EMBEDDED_DATABASE)
                from apps.ops.service import Roles

                self.supervise(Roles(web, workers, runners), keep_database, compiling)
        self.say("stopped")

    def say(self, line: str) -> None:
        """Print a line; the service continues if the terminal is closed."""
        with suppress(OSError):
            self.stdout.write(line)
            self.stdout.flush()

    @contextmanager
    def database(self) -> Iterator[Callable[[], None]]:
        """Attach the database; yield a function that restarts it if necessary."""
        if not settings.EMBEDDED_DATABASE:
            self.say("database  DATABASE_URL")
            yield lambda: None
            return
        with local_postgres.running(settings.DATA_DIR) as server:
            self.say(f"database  PostgreSQL {server.version} in {server.data}")
            yield DatabaseWatch(server, self.say).poll
            connections.close_all()

    def prepare(self, *, with_sample: bool) -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATING])
        except OperationalError as error:
            first_line = str(error).strip().splitlines()[0]
            raise CommandError(f"the database cannot be reached: {first_line}") from error
        call_command("migrate", interactive=False, verbosity=0)
        self.check_secret_key()
        self.seed()
        if with_sample:
            self.load_sample()
        connections.close_all()  # lets go of the lock

    def check_secret_key(self) -> None:
        from apps.core import jobs
        from apps.ops.database import secret_key

        if jobs.is_quiet():
            self.say(
                "warning   a restored copy: nothing trades and nothing is sent until manage.py"
                " end_quiet_start"
            )
        secret_key.require_known(now=timezone.now())
        if secret_key.is_to_be_rotated():
            self.say(
                "warning   SECRET_KEY was changed: when all machines have it, run manage.py"
                " rotate_secret_key"
            )

    def seed(self) -> None:
        from apps.symbols.models import Instrument

        if not Instrument.objects.exists():
            self.say("symbols   none yet: loading the list that ships with the service")
            call_command("seed_symbols", stdout=self.stdout)

    def load_sample(self) -> None:
        from apps.market.candles import are_candles_stored

        if not are_candles_stored():
            self.say("candles   none yet: loading sample data with generated prices")
            call_command("load_candles", sample=True, stdout=self.stdout)

    def supervise(
        self,
        roles: "Roles",
        keep_database: Callable[[], None],
        compiling: Compilation,
    ) -> None:
        """Load everything once, the kernels as soon as they are compiled, and run the processes of
        the roles as forks of this one.
        """
        with ExitStack() as stack:
            if roles.web:
                stack.enter_context(shared_metrics())
            from apps.ops import service

            application = service.import_service()
            compiling.finish(lambda line: self.say(f"kernels   {line}"))
            name_process("supervisor")
            if os.geteuid() == 0:
                self.say("warning   web and workers run as root: start as an ordinary user")
            for warning in exposure_warnings() if roles.web else ():
                self.say(f"warning   {warning}")
            listener = None
            if roles.web:
                listener = stack.enter_context(closing(server.listen(settings.HOST, settings.PORT)))
                self.say(f"web       {roles.web} processes at {address()}")
            self.say(f"workers   {roles.describe_workers()}")
            self.say(f"runners   {roles.runners or 'none'}")
            self.say("Ctrl-C stops everything")
            announcement = Announcement(self.say, has_web=roles.web > 0)

            def on_poll() -> None:
                keep_database()
                announcement.poll()

            children = service.children_of(application, listener, roles)
            Supervisor(children, say=self.say).run(on_poll=on_poll)


def count_of_processes(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= MOST_PROCESSES:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r}: use a whole number from 0 to {MOST_PROCESSES}")


def exposure_warnings() -> Iterator[str]:
    """Yield settings that are too weak for a service open to other machines."""
    if settings.SERVES_LOOPBACK_ALONE:
        return
    if settings.PASSWORD_VALIDATORS != "strict":
        yield "anybody may choose a common password: set PASSWORD_VALIDATORS=strict"
    if not settings.EMAIL_HOST:
        yield "no mails are sent, not even to reset a password: set EMAIL_URL"
    elif not settings.PUBLIC_URL.startswith("https://"):
        yield f"links in mails lead to {settings.PUBLIC_URL}: set PUBLIC_URL"


class DatabaseWatch:
    """Restarts the embedded server when it has ended."""

    def __init__(self, server: local_postgres.LocalServer, say: Callable[[str], None]) -> None:
        self.server = server
        self.say = say
        self.started = self.looked = time.monotonic()
        self.backoff = Backoff(good_run=10.0)

    def poll(self) -> None:
        now = time.monotonic()
        if now < max(self.backoff.due, self.looked + SECONDS_BETWEEN_LOOKS):
            return
        self.looked = now
        if not self.server.has_ended():
            return
        wait = self.backoff.ended(started=self.started, now=now)
        self.say("database ended: starting it again")
        try:
            self.server.start()
            self.started = time.monotonic()
        except local_postgres.NoDatabase as error:
            self.say(f"{error}: trying again in {wait:g} s")


class Announcement:
    """Prints once that the service is ready: when its own /readyz reports it or, without web, when
    its processes were forked.
    """

    def __init__(self, say: Callable[[str], None], *, has_web: bool) -> None:
        self.say = say
        self.has_web = has_web
        self.is_announced = False

    def poll(self) -> None:
        if not self.is_announced and (not self.has_web or is_ready()):
            self.is_announced = True
            self.say(f"ready: {address()}" if self.has_web else "ready")


@contextmanager
def shared_metrics() -> Iterator[None]:
    """Make an empty directory for the counters of web processes (apps/ops/monitoring/metrics.py),
    and remove it at the end.
    """
    folder = settings.METRICS_DIR.parent
    with suppress(FileExistsError):
        folder.mkdir(mode=0o711)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise CommandError(f"{folder} belongs to somebody else: remove it")
    shutil.rmtree(settings.METRICS_DIR, ignore_errors=True)
    settings.METRICS_DIR.mkdir()
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(settings.METRICS_DIR)
    try:
        yield
    finally:
        shutil.rmtree(settings.METRICS_DIR, ignore_errors=True)
        with suppress(OSError):  # another service of this folder counts there
            folder.rmdir()


def require_free_port() -> None:
    host, port = settings.HOST, settings.PORT
    try:
        family, kind, protocol, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[
            0
        ]
        with closing(socket.socket(family, kind, protocol)) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(target)
    except OSError as error:
        raise CommandError(port_problem(error, host, port)) from error


def port_problem(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is taken: stop what uses it, or set PORT to another"
    if error.errno == errno.EACCES:
        return f"port {port} is reserved for root: set PORT to 1024 or higher"
    return f"HOST={host}: not an address of this machine ({error.strerror})"


def local_host() -> str:
    """Return the address for reaching a server on HOST from this machine."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.HOST, settings.HOST)


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def address() -> str:
    return f"http://{bracketed(local_host())}:{settings.PORT}"


def is_ready() -> bool:
    named = settings.ALLOWED_HOSTS[0].lstrip(".*") or local_host()
    request = http.client.HTTPConnection(local_host(), settings.PORT, timeout=2)
    with closing(request):
        try:
            request.request("GET", "/readyz", headers={"Host": named})
            return request.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
