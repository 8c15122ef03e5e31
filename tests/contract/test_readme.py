"""The READMEs are true: their routes, settings, commands and examples are those of the service."""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

import pytest
from django.core.management import get_commands, load_command_class
from django.urls import URLPattern, get_resolver, resolve

from apps.accounts.models import User
from apps.engine.candles import IST
from apps.market.importers.sample import samples
from tests.backtests.waves import waves
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.faults.service import service
from tests.market.bars import store_candles
from tests.symbols import lists

ROOT: Final = Path(__file__).resolve().parents[2]
# The examples run in this order; the masters of the last one list few shares and delist the others.
FOLDERS: Final = (
    "apps/accounts", "apps/algorithms", "apps/backtests", "apps/trading", "apps/webhooks",
    "config", "apps/market", "apps/symbols",
)  # fmt: skip
PAGES: Final = {
    folder: (ROOT / folder / "README.md").read_text()
    for folder in (
        ".",
        *FOLDERS,
        "apps",
        "apps/core",
        "apps/engine",
        "config/deploy",
        "tests/benchmarks",
    )
}
TOP: Final = (ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md")
README: Final = PAGES["."]


def date_in_india(seconds: int) -> date:
    return datetime.fromtimestamp(int(seconds) + IST, tz=UTC).date()


def section(folder: str, heading: str) -> str:
    return PAGES[folder].split(f"## {heading}\n")[1].split("\n## ")[0]


def shell(text: str) -> str:
    """Return what the fenced shell blocks of a text say, in their order."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))


def commands_in(text: str) -> list[list[str]]:
    """Return the words after `manage.py` of each command in shell blocks."""
    lines = re.findall(r"manage\.py (.+)", shell(text))
    return [shlex.split(line) for line in lines]


def documented_routes() -> list[str]:
    routes: list[str] = []
    pages = [text for text in PAGES.values() if "## Routes\n" in text]
    tables = "".join(text.split("## Routes\n")[1].split("\n## ")[0] for text in pages)
    for row in re.findall(r"^\| (`/.*?) \|", tables, re.MULTILINE):
        names = re.findall(r"`([^`]+)`", row)
        first = names[0]
        for name in names:
            if name.startswith("/"):
                routes.append(name)
            elif first.endswith(">"):
                routes.append(f"{first}/{name}")
            else:
                routes.append(f"{first.rsplit('/', 1)[0]}/{name}")
    return routes


def served_routes() -> list[str]:
    patterns = [p for p in get_resolver().url_patterns if isinstance(p, URLPattern)]
    paths = {"/" + re.sub(r"<[^>]+>", "<>", str(p.pattern)) for p in patterns}
    return sorted(paths | {"/admin/", "/app/"})


def test_the_first_page_is_short_and_shows_a_report() -> None:
    assert len(README.encode()) < 8_000
    [picture] = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert (ROOT / picture).stat().st_size < 150_000


def test_the_glossary_of_the_map_has_fifteen_words_at_most() -> None:
    words = re.findall(r"^\| [a-z]", section("apps", "Words"), re.MULTILINE)
    assert 0 < len(words) <= 15


def test_every_route_is_documented_once_and_none_is_invented() -> None:
    documented = sorted(re.sub(r"<[^>]+>", "<>", path) for path in documented_routes())
    assert documented == served_routes()


def test_every_setting_is_documented_and_none_is_invented() -> None:
    names = ("config/settings.py", "apps/ops/local_postgres.py")
    sources = [ROOT / name for name in names]
    text = "\n".join(path.read_text() for path in sources)
    read = set(re.findall(r'(?:environ(?:\.get\(|\[)|env_[a-z]+\(\s*)"([A-Z_]+)"', text))
    rows = re.findall(r"^\| (`[A-Z_]+`[^|]*) \|", section("config", "Settings"), re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}
    assert documented == read - {"PATH"}


def test_the_range_of_the_sample_is_the_samples_own() -> None:
    """Whoever follows the README without a file asks for these dates."""
    minutes = next(sample for sample in samples() if sample.timeframe == "1m").candles
    first, last = (f"{day:%Y-%m-%d}" for day in map(date_in_india, minutes.time[[0, -1]]))
    assert f"{first} to {last}" in README.replace("\n", " ")


def test_the_candle_that_is_explained_is_one_of_the_sample() -> None:
    address = re.search(r"/explain\?symbol=NSE:RELIANCE&at=([^\"]+)", PAGES["apps/backtests"])
    assert address is not None
    minutes = next(
        sample
        for sample in samples()
        if (sample.symbol, sample.timeframe) == ("NSE:RELIANCE", "1m")
    )
    assert int(datetime.fromisoformat(address[1]).timestamp()) in minutes.candles.time


def test_every_command_exists() -> None:
    documented = set(re.findall(r"^\| `(\w+)", section("config", "Commands"), re.MULTILINE))
    documented -= {"manage"}
    assert documented <= set(get_commands())
    used = {name for text in PAGES.values() for name in re.findall(r"manage\.py (\w+)", text)}
    assert used <= documented


@pytest.mark.parametrize("folder", PAGES)
def test_every_command_takes_the_options_of_its_examples(folder: str) -> None:
    for name, *words in commands_in(PAGES[folder]):
        command = load_command_class(get_commands()[name], name)
        command.create_parser("manage.py", name).parse_args(words)


def test_every_link_leads_somewhere() -> None:
    pages = [ROOT / folder / "README.md" for folder in PAGES]
    for page in (*pages, *TOP):
        links = re.findall(r"\]\((?!http)([^)]+)\)", page.read_text())
        assert [link for link in links if not (page.parent / link).exists()] == [], page


def test_every_make_rule_exists() -> None:
    text = "".join([*PAGES.values(), *(page.read_text() for page in TOP)])
    rules = set(re.findall(r"`make (\w+)`|^    make (\w+)$", text, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text()
    assert {"run", "test", "demo", "check"} <= {name for pair in rules for name in pair}
    for name in filter(None, (name for pair in rules for name in pair)):
        assert re.search(rf"^{name}:", makefile, re.MULTILINE), name


def example_algorithm() -> str:
    body = re.search(r"/trading/algorithms .*?-d '(.*?)' \|", shell(README), re.DOTALL)
    assert body is not None
    return body[1]


def test_the_example_algorithm_is_ready_as_soon_as_it_is_created(api: Api, alice: User) -> None:
    answer = api(alice).post("/api/trading/algorithms", json.loads(example_algorithm()))
    assert answer.status_code == 201, answer.json()
    assert answer.json()["status"] == "stopped"


def test_the_example_of_a_study_has_its_windows(api: Api, alice: User) -> None:
    store_candles("NSE:RELIANCE", "5m", waves("2026-04-01", 60, step=300))
    study = re.search(
        r"/api/backtests .*?-d '(.*)' \|", shell(section("apps/backtests", "Studies")), re.DOTALL
    )
    assert study is not None
    created = api(alice).post("/api/trading/algorithms", json.loads(example_algorithm())).json()
    body = json.loads(study[1].replace("'$ALGORITHM'", created["id"]))
    submitted = api(alice).post("/api/backtests", body)
    assert submitted.status_code == 201, submitted.json()
    run_queued()
    completed = api(alice).get(f"/api/backtests/{submitted.json()['id']}").json()
    assert len(completed["results"]["windows"]) == 4


def test_the_example_sign_up_works(api: Api) -> None:
    body = re.search(r"signup.*?-d '(.*?)' \|", shell(README), re.DOTALL)
    assert body is not None
    assert api().post("/api/auth/signup", json.loads(body[1])).status_code == 201


def test_the_example_of_the_rulebook_works(api: Api, alice: User) -> None:
    address = re.search(r'curl -s "localhost:8000(.*?)"', section("apps/market", "Rules"))
    assert address is not None
    answer = api(alice).get(address[1])
    assert "closing_auction" in {phase["phase"] for phase in answer.json()["segments"][0]["phases"]}


# Stands in for curl: a job is queued at first, then running, then completed.
CURL: Final = """#!{python}
import json, sys
from pathlib import Path

words = sys.argv[1:]
[address] = [word for word in words if word.startswith("localhost:8000")]
body = words[words.index("-d") + 1] if "-d" in words else ""
method = words[words.index("-X") + 1] if "-X" in words else "POST" if body else "GET"
log = Path(__file__).with_name("log")
calls = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
calls.append([method, address.removeprefix("localhost:8000"), body])
log.write_text("\\n".join(map(json.dumps, calls)))
repeated = min(calls.count(calls[-1]) - 1, 2)
print(json.dumps({{
    "accessToken": "token", "data": [],
    **dict.fromkeys(("id", "backtestId"), f"{{len(calls):024x}}"),
    "status": ("queued", "running", "completed")[repeated],
}}))
"""
# Stands in for .venv/bin/python, which runs no command of manage.py here.
PYTHON: Final = """#!/bin/sh
[ "$1" = manage.py ] || exec {python} "$@"
"""


def calls_of(folder: Path, script: str) -> list[tuple[str, str, str]]:
    """Run a script with a stand-in for the service; return the calls it made."""
    for path, text in ((folder / "curl", CURL), (folder / ".venv" / "bin" / "python", PYTHON)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(python=sys.executable))
        path.chmod(0o755)
    subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        check=True,
    )
    return [tuple(json.loads(line)) for line in (folder / "log").read_text().splitlines()]


def test_nothing_of_a_backtest_is_read_before_it_has_ended(tmp_path: Path) -> None:
    study = shell(section("apps/backtests", "Studies"))
    paths = [path for _, path, _ in calls_of(tmp_path, shell(README) + study)]
    backtests = [path for path in paths if path.startswith("/api/backtests")]
    backtest, walk_forward = f"/api/backtests/{3:024x}", f"/api/backtests/{10:024x}"
    assert backtests == [
        "/api/backtests", *[backtest] * 3, f"{backtest}/report-link",
        "/api/backtests", *[walk_forward] * 3, walk_forward,
    ]  # fmt: skip


def test_every_example_calls_a_route_that_takes_it(tmp_path: Path) -> None:
    script = "\n".join(shell(PAGES[folder]) for folder in (".", *FOLDERS))
    calls = calls_of(tmp_path, script)
    assert len(calls) > 25
    for method, address, body in calls:
        view = resolve(address.partition("?")[0]).func
        actions = getattr(view, "actions", None)
        taken = actions or vars(getattr(view, "cls", None) or view.view_class)  # type: ignore[attr-defined]  # set by Django's as_view
        assert method.lower() in taken, address
        if body:
            json.loads(body)


def prepare(folder: Path) -> None:
    """Lay out the files that the examples name, and this project's commands."""
    for name in (".venv", "manage.py"):
        (folder / name).symlink_to(ROOT / name)
    candles = waves("2024-01-02", 5, step=60)
    rows = zip(candles.time, candles.open, candles.high, candles.low, candles.close, strict=True)
    lines = [
        f"{datetime.fromtimestamp(time, tz=UTC).isoformat()},{open_},{high},{low},{close},500"
        for time, open_, high, low, close in rows
    ]
    text = "\n".join(["date,open,high,low,close,volume", *lines])
    for symbol in ("RELIANCE", "TATASTEEL"):
        (folder / f"{symbol}_1m_2024.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "actions.csv").write_text(
        "symbol,ex_date,kind,ratio,source\nNSE:RELIANCE,2024-10-28,bonus,1:1,example\n"
    )
    (folder / "instruments.csv").write_text(lists.KITE)
    (folder / "EQUITY_L.csv").write_text(lists.NSE)
    (folder / "complete.json.gz").write_bytes(gzip.compress(lists.UPSTOX_JSON.encode()))
    (folder / "algorithm.json").write_text(example_algorithm())


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
def test_every_example_works_as_a_shell_takes_it(tmp_path: Path) -> None:
    prepare(tmp_path)
    [create] = re.findall(r"^ALGORITHM=.*?field id\)$", shell(README), re.DOTALL | re.MULTILINE)
    parts = ['curl() { command curl --fail-with-body -S "$@"; }', shell(README)]
    # An algorithm of its own for each page: one may have started it.
    parts += [f"{create}\n{shell(PAGES[folder])}" for folder in FOLDERS]
    with service(options=["--sample"], WEB_WORKERS="1", BACKTEST_WORKERS="1") as running:
        script = "\n".join(parts).replace("localhost:8000", f"127.0.0.1:{running.port}")
        result = subprocess.run(
            ["bash", "-euxo", "pipefail", "-c", script.replace("--speed 60", "--speed max")],
            cwd=tmp_path,
            env=running.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert result.returncode == 0, result.stderr[-2000:] + result.stdout[-2000:]
    assert "/reports/" in result.stdout
    windows = re.findall(r'"windows":\[.*?\]', result.stdout)
    assert windows
