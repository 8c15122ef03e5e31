"""Each kind of process has its own limits, from the first statement of every connection on."""

import os
from urllib.parse import quote

import pytest

from tests.processes import line, python

pytestmark = pytest.mark.slow

NAMES = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
SHOW = f"""
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"

def show(parameters=None):
    import psycopg
    from django.db import connection
    with psycopg.connect(**parameters or connection.get_connection_params()) as asked:
        for name in {NAMES}:
            print(asked.execute("SHOW " + name).fetchone()[0], end=" ")
        print(asked.execute("SHOW application_name").fetchone()[0], flush=True)
"""
WEB = """
from types import SimpleNamespace
from config.asgi import application
from apps.ops.processes.supervisor import Heartbeat
from apps.ops.web import server
server.Server = lambda _: SimpleNamespace(
    config=SimpleNamespace(), handle_exit=lambda number, frame: None, run=lambda sockets: show()
)
server.serve(application, None, Heartbeat(), 0)
"""
WORKER = """
import django; django.setup()
from procrastinate.contrib.django.utils import connector_params
from apps.ops.processes import worker
worker.asyncio.run = lambda work: (work.close(), show(connector_params()))
worker.work(["small"]); show()
"""
COMMAND = SHOW + "import django; django.setup(); show()"


@pytest.fixture(autouse=True)
def _address_with_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options of DATABASE_URL must stay."""
    options = quote("-c application_name=kept", safe="")
    address = f"{os.environ['DATABASE_URL']}&options={options}"
    monkeypatch.setenv("DATABASE_URL", address)


def test_web_answers_within_seconds() -> None:
    with python(SHOW + WEB) as process:
        assert line(process) == "5s 2s 10s kept"


def test_a_worker_may_take_a_minute_and_so_may_its_queue() -> None:
    with python(SHOW + WORKER) as process:
        assert line(process) == "1min 5s 30s kept"
        assert line(process) == "1min 5s 30s kept"


def test_a_command_has_no_time_limit() -> None:
    with python(COMMAND) as process:
        assert line(process) == "0 0 0 kept"
