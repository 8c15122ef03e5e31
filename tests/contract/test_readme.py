"""README.md is true: its routes, settings, commands and examples are those of the service."""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from django.core.management import get_commands
from django.urls import URLPattern, get_resolver

from apps.accounts.models import User
from apps.engine.candles import IST
from apps.market.sample import samples
from tests.backtests.waves import waves
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.faults.service import service
from tests.market.bars import store_candles

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def date_in_india(seconds: int) -> date:
    return datetime.fromtimestamp(int(seconds) + IST, tz=UTC).date()


def table(heading: str) -> str:
    return README.split(f"## {heading}\n")[1].split("\n## ")[0]


def documented_routes() -> set[str]:
    found = set()
    for row in re.findall(r"^\| (`/.*?) \|", table("Routes"), re.MULTILINE):
        names = re.findall(r"`([^`]+)`", row)
        first = names[0]
        for name in names:
            if name.startswith("/"):
                found.add(name)
            elif first.endswith(">"):
                found.add(f"{first}/{name}")
            else:
                found.add(f"{first.rsplit('/', 1)[0]}/{name}")
    return found


def served_routes() -> set[str]:
    patterns = [p for p in get_resolver().url_patterns if isinstance(p, URLPattern)]
    paths = {"/" + re.sub(r"<[^>]+>", "<>", str(p.pattern)) for p in patterns}
    return paths | {"/admin/"}


def test_every_route_is_documented_and_none_is_invented() -> None:
    assert {re.sub(r"<[^>]+>", "<>", path) for path in documented_routes()} == served_routes()


def test_every_setting_is_documented_and_none_is_invented() -> None:
    sources = [
        ROOT / name for name in ("config/settings.py", "apps/ops/embedded_postgres/binaries.py")
    ]
    text = "\n".join(path.read_text() for path in sources)
    read = set(re.findall(r'(?:environ(?:\.get\(|\[)|env_[a-z]+\(\s*)"([A-Z_]+)"', text))
    rows = re.findall(r"^\| (`[A-Z_]+`[^|]*) \|", table("Settings"), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}
    assert named == read - {"PATH"}


def test_the_range_of_the_sample_is_the_samples_own() -> None:
    """Whoever follows the journey without a file asks for these dates."""
    minutes = next(sample for sample in samples() if sample.timeframe == "1m").candles
    first, last = (f"{day:%Y-%m-%d}" for day in map(date_in_india, minutes.time[[0, -1]]))
    assert f"{first} to {last}" in README


def test_the_candle_that_is_explained_is_one_of_the_sample() -> None:
    asked = re.search(r"/explain\?symbol=NSE:RELIANCE&at=([^\"]+)", README)
    assert asked is not None
    minutes = next(
        one for one in samples() if (one.symbol, one.timeframe) == ("NSE:RELIANCE", "1m")
    )
    assert int(datetime.fromisoformat(asked[1]).timestamp()) in minutes.candles.time


def test_every_command_exists() -> None:
    commands = set(re.findall(r"^\| `(\w+)", table("Commands"), re.MULTILINE)) - {"manage"}
    assert commands <= set(get_commands())
    used = set(re.findall(r"manage\.py (\w+)", README))
    assert used <= commands


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\((?!http)([^)]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("rule", ["run", "test", "demo", "check"])
def test_every_make_rule_exists(rule: str) -> None:
    assert f"make {rule}" in README
    assert re.search(rf"^{rule}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def shell_blocks(*headings: str) -> str:
    text = "".join(table(heading) for heading in headings or ("The journey",))
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))


def test_the_example_algorithm_is_ready_as_soon_as_it_is_created(api: Api, alice: User) -> None:
    sent = re.search(r"/trading/algorithms .*?-d '(.*?)' \|", shell_blocks(), re.DOTALL)
    assert sent is not None
    answer = api(alice).post("/api/trading/algorithms", json.loads(sent[1]))
    assert answer.status_code == 201, answer.json()
    assert answer.json()["status"] == "stopped"


def test_the_example_of_a_study_tells_its_windows(api: Api, alice: User) -> None:
    store_candles("NSE:RELIANCE", "5m", waves("2026-04-01", 60, step=300))
    described = re.search(r"/trading/algorithms .*?-d '(.*?)' \|", shell_blocks(), re.DOTALL)
    asked = re.search(r"/api/backtests .*?-d '(.*)' \|", shell_blocks("Studies"), re.DOTALL)
    assert described is not None
    assert asked is not None
    algorithm = api(alice).post("/api/trading/algorithms", json.loads(described[1])).json()["id"]
    body = json.loads(asked[1].replace("'$ALGORITHM'", algorithm))
    created = api(alice).post("/api/backtests", body)
    assert created.status_code == 201, created.json()
    run_queued()
    found = api(alice).get(f"/api/backtests/{created.json()['id']}").json()
    assert len(found["results"]["windows"]) == 4


def test_the_example_sign_up_works(api: Api) -> None:
    sent = re.search(r"signup.*?-d '(.*?)' \|", shell_blocks(), re.DOTALL)
    assert sent is not None
    assert api().post("/api/auth/signup", json.loads(sent[1])).status_code == 201


def test_the_example_of_the_rulebook_works(api: Api, alice: User) -> None:
    sent = re.search(r'curl -s "localhost:8000(.*?)"', table("Rules of the market"))
    assert sent is not None
    answer = api(alice).get(sent[1])
    assert "closing_auction" in {phase["phase"] for phase in answer.json()["segments"][0]["phases"]}


CURL = """#!{python}
import json, sys
from pathlib import Path

address = sys.argv[2].removeprefix("localhost:8000/api")
log = Path(__file__).with_name("log")
asked = log.read_text().splitlines() if log.exists() else []
log.write_text("\\n".join([*asked, address]))
waited = min(asked.count(address), 2)
print(json.dumps({{
    "accessToken": "token", "id": f"id{{len(asked)}}", "data": [],
    "status": ("queued", "running", "completed")[waited],
}}))
"""


def test_nothing_of_a_backtest_is_read_before_it_has_ended(tmp_path: Path) -> None:
    """Against a service that answers `queued`, then `running`, then `completed`."""
    curl = tmp_path / "curl"
    curl.write_text(CURL.format(python=sys.executable))
    curl.chmod(0o755)
    subprocess.run(
        ["bash", "-euo", "pipefail", "-c", shell_blocks("The journey", "Studies")],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        check=True,
    )
    backtest, study = "/backtests/id3", "/backtests/id8"
    assert (tmp_path / "log").read_text().splitlines() == [
        "/auth/signup", "/symbols/validate", "/trading/algorithms",
        "/backtests", *[backtest] * 3, f"{backtest}/trades",
        "/backtests", *[study] * 3, study,
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
def test_the_first_calls_work_as_a_shell_takes_them() -> None:
    with service(WEB_WORKERS="1", BACKTEST_WORKERS="1") as running:
        running.manage("load_candles", "--sample")
        script = shell_blocks("The journey", "Studies").replace(
            "localhost:8000", f"127.0.0.1:{running.port}"
        )
        told = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    read = json.JSONDecoder().raw_decode
    checked, end = read(told)
    assert checked["valid"] is True
    assert checked["tradable"] is True
    trades, end = read(told, end)
    study = json.loads(told[end:])
    assert len(study["results"]["windows"]) == 4, study["error"]
    assert trades["pagination"]["total"] > 0
    assert {trade["symbol"] for trade in trades["data"]} == {"NSE:RELIANCE"}
