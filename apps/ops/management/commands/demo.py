"""The demo: the client's journey, against a fresh service that leaves nothing behind."""

import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TextIO

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.ops.demo.webhook_receiver import receiving

SECONDS_TO_BE_READY: Final = 300.0
LINES_SHOWN: Final = 20
INSTALL_CLIENT: Final = ".venv/bin/python -m pip install ./apps/client"


class Command(BaseCommand):
    help = "Start a fresh service beside any other, walk the main job by the client, and clean up."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        say = self._write
        try:
            from apps.ops.demo import walkthrough
        except ModuleNotFoundError as error:
            message = f"{error}: the demo uses the Python client. Install it: {INSTALL_CLIENT}"
            raise CommandError(message) from error
        with tempfile.TemporaryDirectory(prefix="algotrade-demo-") as directory:
            environment = _environment(directory)
            say(f"Start a fresh service at port {environment['PORT']}")
            with _running(environment) as service:
                address = f"http://127.0.0.1:{environment['PORT']}"
                _wait_until_ready(service, address, say)
                say("Load sample data: these prices are made up")
                _run(environment, "load_candles", "--sample")
                self._walk(walkthrough, address, environment)
                say("Stop the service")
        say("Done: the service is stopped and its files are gone")

    def _walk(self, walkthrough: ModuleType, address: str, environment: dict[str, str]) -> None:
        def feed(symbol: str, timeframe: str, first: date) -> None:
            past = ("--symbols", symbol, "--timeframe", timeframe, "--from", str(first))
            _run(environment, "feed", *past, "--speed", "max")

        logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs each request
        try:
            with receiving() as receiver:
                password = secrets.token_urlsafe()
                walkthrough.run_demo(
                    address, self._write, password=password, feed=feed, receiver=receiver
                )
        except walkthrough.DemoFailed as error:
            raise CommandError(str(error)) from error

    def _write(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _environment(directory: str) -> dict[str, str]:
    """Return this process's environment without variables that lead to real data.

    NUMBA_CACHE_DIR, set by the settings, stays: kernels are the same for every service.
    """
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment |= {"DATA_DIR": directory, "PORT": str(_free_port()), "HOST": "127.0.0.1"}
    return environment | {
        "ALLOWED_HOSTS": "127.0.0.1",
        "WEB_WORKERS": "1",
        "BACKTEST_WORKERS": "1",
        "WEBHOOK_ALLOW_CIDRS": "127.0.0.1/32",
        "WEBHOOK_ALLOW_HTTP": "1",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _command(*arguments: str) -> list[str]:
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]


@dataclass(frozen=True, slots=True)
class Service:
    """A running `manage.py up`, and its output."""

    process: subprocess.Popen[bytes]
    log: TextIO


@contextmanager
def _running(environment: dict[str, str]) -> Iterator[Service]:
    """Run `manage.py up`; an error is raised with the last lines of its output."""
    path = Path(environment["DATA_DIR"]) / "up.log"
    with path.open("wb") as written, path.open(errors="replace") as log:
        process = subprocess.Popen(_command("up"), env=environment, stdout=written, stderr=written)
        try:
            yield Service(process, log)
        except CommandError as error:
            log.seek(0)
            lines = log.read().splitlines()[-LINES_SHOWN:]
            raise CommandError("\n".join([str(error), *lines])) from error
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def _wait_until_ready(service: Service, address: str, say: Callable[[str], None]) -> None:
    """Wait, and repeat the service's output meanwhile."""
    begun = time.monotonic()
    while time.monotonic() - begun < SECONDS_TO_BE_READY:
        for line in service.log:
            say(f"    {line.rstrip()}")
        if (code := service.process.poll()) is not None:
            raise CommandError(f"the service ended with exit code {code}")
        try:
            with urllib.request.urlopen(address + "/readyz", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise CommandError(f"the service was not ready after {SECONDS_TO_BE_READY:.0f} s")


def _run(environment: dict[str, str], *arguments: str) -> None:
    done = subprocess.run(
        _command(*arguments), env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CommandError(f"manage.py {' '.join(arguments)} failed:\n{done.stderr}")
