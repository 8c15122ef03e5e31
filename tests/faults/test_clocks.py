"""A machine with a wrong clock, beside one with a right clock, on one database."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest

from apps.ops.database.local_postgres import DATABASE, running, socket_folder
from tests.faults.clients import PASSWORD
from tests.faults.service import Caller, Service, fresh_folder, service
from tests.processes import until

FAKETIME: Final = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(FAKETIME is None, reason="libfaketime shifts clocks, and is not here"),
]

READ: Final = "/api/trading/algorithms"
KEY: Final = "the key of both machines, 32 and more characters"


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    directory = fresh_folder()
    with running(directory, durable=False):
        folder = quote(str(socket_folder(directory)), safe="")
        yield f"postgresql://{DATABASE}@/{DATABASE}?host={folder}"


@contextmanager
def machine(database: str, *, shift: int = 0) -> Iterator[Service]:
    with service(
        DATABASE_URL=database,
        SECRET_KEY=KEY,
        WEB_WORKERS="1",
        BACKTEST_WORKERS="1",
        LD_PRELOAD=str(FAKETIME) if shift else "",
        FAKETIME=f"{shift:+d}s",
    ) as running:
        yield running


def clock_of(up: Service) -> str:
    return str(json.loads(up.get("/readyz")[1])["checks"].get("clock", ""))


@pytest.mark.parametrize("shift", [-25, 25, 40])
def test_a_wrong_clock_is_reported_and_harmless(database: str, shift: int) -> None:
    with machine(database) as right, machine(database, shift=shift) as wrong:
        until(lambda: clock_of(wrong) != "", seconds=30)
        print(f"\n{clock_of(wrong)}")
        direction = "ahead of" if shift > 0 else "behind"
        assert f"{direction} the database's" in clock_of(wrong)
        assert clock_of(right) == ""
        caller = Caller(wrong.port)
        body = {"email": f"{shift}@example.com", "password": PASSWORD, "name": "A"}
        assert caller.call("POST", "/api/auth/signup", body).status == 201
        for port in (right.port, wrong.port):  # all machines share its tokens
            assert Caller(port, caller.token).call("GET", READ).status == 200
        time.sleep(8)  # heartbeats come every five seconds
        for up in (right, wrong):
            checks = json.loads(up.get("/readyz")[1])["checks"]
            assert "processes" not in checks, checks
        assert ("this worker takes no work: clock" in wrong.said(lines=1000)) == (shift == 40)
        assert "Traceback" not in wrong.said(lines=10_000)
