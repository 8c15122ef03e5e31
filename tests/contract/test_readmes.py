"""Every block of every README, CONTRIBUTING and SECURITY runs.

sh: all blocks run in one shell, in the order of the pages, against the test database. curl calls
Django's test client, manage.py commands run in this process, make rules are dry runs. python: the
blocks of a page run unchanged from the project's root; those of the client run in an environment of
their own (tests/client/test_journeys.py). json: a block parses. An error fits the
OpenAPI document, steps validate. psql: a command runs in psql. cron: the command of a line runs in
the shell of the sh blocks. env: the settings load with these variables. text: a drawing, not run.
NOT_RUN names the sh blocks that need another machine. The shell checks their syntax, and the
parsers of manage.py check their commands.
"""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from django.core.management import call_command, get_commands, load_command_class
from pytest_django import Settings

from apps.accounts.models import User
from apps.algorithms import services
from apps.core import audit
from apps.core.models import AuditRecord
from apps.market.importers.generated_sample import samples
from apps.ops.database import backups
from tests import make, openapi
from tests.backtests.price_series import wave_candles
from tests.backtests.workers import run_all_queued
from tests.conftest import client_of
from tests.contract.readme_service import COMMANDS, ExampleService
from tests.contract.readmes import BLOCKS, PAGES, Block, blocks_in, section, shell
from tests.faults.service import service
from tests.market.bars import at, store_candles
from tests.processes import PROJECT
from tests.symbols import master_files

LANGUAGES: Final = {"sh", "python", "json", "psql", "cron", "env", "text"}
# The first line of a block that cannot run on every machine, and why.
NOT_RUN: Final = {
    "PG_BIN=/usr/lib/postgresql/17/bin .venv/bin/python manage.py backup backups": (
        "needs PostgreSQL 17 beside the bundled version, and its data"
    ),
    "git worktree add --detach /tmp/release b28e6e1c && cd /tmp/release": (
        "needs release 1.0.0 from the history of git"
    ),
}
# Stands in for .venv/bin/python: sends commands of manage.py to the service of the examples.
PYTHON: Final = f"""#!/bin/sh
[ "$1" = manage.py ] || exec {sys.executable} "$@"
shift
printf '%s\\n' "$@" | curl -sS --fail-with-body --data-binary @- {{address}}{COMMANDS}
"""
# A refusal ends the script; a make rule exists when its dry run succeeds.
PREAMBLE: Final = f"""
curl() {{ command curl --fail-with-body -S "$@"; }}
make() {{ command make --dry-run --directory {PROJECT} "$@" > /dev/null; }}
algotrade() {{
  PYTHONPATH={PROJECT} XDG_CONFIG_HOME=$PWD {sys.executable} -m apps.client.algotrade_client "$@" \
    <<< 'a long password'
}}
pip() {{ [ "$1" = install ] && ls {PROJECT}/apps/client/pyproject.toml > /dev/null; }}
"""
# The backtest of the client, and then that of curl.
POSTED: Final = ("POST", "/api/backtests")
OWN_PYTHON: Final = [block for block in blocks_in("python") if "algotrade_client" not in block.text]
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")


def example_algorithm() -> str:
    body = re.search(r"/trading/algorithms .*?-d '(.*?)' \|", shell(PAGES["README.md"]), re.DOTALL)
    assert body is not None
    return body[1]


def script(address: str) -> str:
    """Return all shell blocks and cron lines as one script for the service at this address."""
    [create] = re.findall(
        r"^ALGORITHM=.*?field id\)$", shell(PAGES["README.md"]), re.DOTALL | re.MULTILINE
    )
    parts = [PREAMBLE]
    page = "README.md"
    for block in BLOCKS:
        if block.page != page:  # an algorithm of its own for each page: another has started it
            page = block.page
            parts.append(create)
        if block.language == "sh" and block.first_line not in NOT_RUN:
            parts.append(block.text)
        if block.language == "cron":
            parts += [line.split(maxsplit=5)[5] for line in block.text.splitlines()]
    whole = "\n".join(parts).replace("localhost:8000", address).replace("/opt/algotrade", ".")
    return whole.replace("--speed 60", "--speed max")


def lay_out(folder: Path) -> None:
    """Write the files named in the examples."""
    candles = wave_candles("2024-01-02", 5, step=60)
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
    (folder / "instruments.csv").write_text(master_files.KITE)
    (folder / "EQUITY_L.csv").write_text(master_files.NSE)
    (folder / "complete.json.gz").write_bytes(gzip.compress(master_files.UPSTOX_JSON.encode()))
    (folder / "algorithm.json").write_text(example_algorithm())


def store_sample_until(moment: str) -> None:
    """Store the sample of one symbol; the replay of the last day plays a few minutes."""
    for sample in samples():
        if sample.symbol == "NSE:RELIANCE":
            candles = sample.candles
            candles = candles.slice(0, int(candles.time.searchsorted(at(moment))))
            store_candles(sample.symbol, sample.timeframe, candles, synthetic=True)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_fenced_and_names_its_language(page: str) -> None:
    assert {block.language for block in BLOCKS if block.page == page} <= LANGUAGES
    assert PAGES[page].count("\n```") == 2 * sum(block.page == page for block in BLOCKS)
    indented = re.findall(r"^(?![\s|*>-]|\d+\.).*\n\n( {4}\S.*)", PAGES[page], re.MULTILINE)
    assert indented == []


def test_every_block_that_is_not_run_exists() -> None:
    assert NOT_RUN.keys() <= {block.first_line for block in blocks_in("sh")}


@needs_curl
@pytest.mark.timeout(180)
@pytest.mark.django_db
def test_every_shell_block_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    call_command("seed_symbols", verbosity=0)
    store_sample_until("2026-06-29 09:30")
    with ExampleService(client_of(), run_all_queued) as examples:
        address = f"localhost:{examples.server_port}"
        settings.PUBLIC_URL = f"http://{address}"
        python = tmp_path / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(PYTHON.format(address=address))
        python.chmod(0o755)
        errors = tmp_path / "errors"
        with errors.open("w") as log, (tmp_path / "output").open("w") as output:
            command = ["bash", "-euxo", "pipefail", "-c", script(address)]
            with subprocess.Popen(command, stdout=output, stderr=log, text=True) as process:
                examples.serve(process)
    written = (tmp_path / "output").read_text()
    assert process.returncode == 0, errors.read_text()[-2000:] + written[-2000:]
    assert_shown(written)
    calls = [(method, path) for method, path, _ in examples.calls if path.startswith("/api/back")]
    by_curl = calls.index(POSTED, calls.index(POSTED) + 1)
    _, waited, repeated, linked = calls[by_curl : by_curl + 4]
    assert waited == repeated == ("GET", linked[1].removesuffix("/report-link"))
    assert len(examples.calls) > 25


def assert_shown(written: str) -> None:
    """Check that the report has its link, the study its windows, the session its phases."""
    assert "/reports/" in written
    assert re.search(r'"windows":\[\{', written)
    assert "closing_auction" in written


@pytest.mark.slow
@pytest.mark.timeout(600)
@needs_curl
def test_every_shell_block_runs_against_a_whole_service(tmp_path: Path) -> None:
    lay_out(tmp_path)
    for name in (".venv", "manage.py"):
        (tmp_path / name).symlink_to(PROJECT / name)
    with service(options=["--sample"], WEB_WORKERS="1", BACKTEST_WORKERS="1") as running:
        result = subprocess.run(
            ["bash", "-euxo", "pipefail", "-c", script(f"127.0.0.1:{running.port}")],
            cwd=tmp_path,
            env=running.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert result.returncode == 0, result.stderr[-2000:] + result.stdout[-2000:]
    assert_shown(result.stdout)


@pytest.mark.slow
@pytest.mark.timeout(600)
@needs_curl
def test_the_paper_example_ends_with_trades_and_a_stopped_algorithm(tmp_path: Path) -> None:
    lay_out(tmp_path)
    for name in (".venv", "manage.py"):
        (tmp_path / name).symlink_to(PROJECT / name)
    text = shell(PAGES["README.md"]).replace("localhost:8000", "$ADDRESS")
    read = 'curl -s $ADDRESS/api/trading/algorithms/$ALGORITHM -H "Authorization: Bearer $TOKEN"'
    trades = read.replace("$ALGORITHM -H", "$ALGORITHM/trades -H")
    lines = [PREAMBLE, text, "echo", trades, "echo", read]
    with service(options=["--sample"], WEB_WORKERS="1", BACKTEST_WORKERS="1") as running:
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
            cwd=tmp_path,
            env=running.environment() | {"ADDRESS": f"127.0.0.1:{running.port}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr[-2000:] + result.stdout[-2000:]
        running.manage("status")  # it fails if an algorithm is in error
    *_, traded, algorithm = result.stdout.splitlines()
    assert json.loads(traded)["pagination"]["total"] > 0
    assert json.loads(algorithm)["status"] == "stopped"


@pytest.mark.parametrize("block", blocks_in("sh"), ids=str)
def test_the_shell_and_the_commands_take_every_block(block: Block) -> None:
    subprocess.run(["bash", "-n", "-c", block.text], check=True)
    for line in re.findall(r"manage\.py (.+)", block.text):
        name, *words = shlex.split(line)
        command = load_command_class(get_commands()[name], name)
        command.create_parser("manage.py", name).parse_args(words)


@pytest.mark.django_db
@pytest.mark.parametrize("page", list(dict.fromkeys(b.page for b in OWN_PYTHON)))
def test_every_python_block_runs(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page share their names, as in one session."""
    monkeypatch.chdir(PROJECT)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in OWN_PYTHON:
        if block.page == page:
            exec(compile(block.text, str(block), "exec"), names)


@pytest.mark.parametrize("block", blocks_in("json"), ids=str)
def test_every_json_block_is_valid(block: Block, alice: User) -> None:
    value = json.loads(block.text)
    if "error" in value:
        assert openapi.faults_in(value, {"$ref": "#/components/schemas/Error"}) == []
    if "basicInfo" in value:
        review = services.review(algorithm=make.algorithm(alice, **value), now=make.NOW)
        assert review.errors == ()


@pytest.mark.parametrize("block", blocks_in("env"), ids=str)
def test_every_variable_is_a_setting_with_a_valid_value(block: Block) -> None:
    variables = dict(line.split("=", 1) for line in block.text.splitlines())
    settings = section("config/README.md", "Settings")
    assert [name for name in variables if f"`{name}`" not in settings] == []
    subprocess.run(
        [sys.executable, "-c", "import config.settings"],
        cwd=PROJECT,
        env=os.environ | variables,
        check=True,
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("block", blocks_in("psql"), ids=str)
def test_audit_records_are_copied_by_psql(block: Block, tmp_path: Path) -> None:
    long_ago = make.NOW.replace(year=2024)
    audit.record(audit.Action.LOGIN, None, actor=audit.SYSTEM, now=long_ago)
    audit.record(audit.Action.LOGOUT, None, actor=audit.SYSTEM, now=make.NOW)
    command = backups._command("psql", "--no-psqlrc", f"--command={block.text}")
    subprocess.run(command, env=backups._environment(), check=True, cwd=tmp_path)
    [line] = (tmp_path / "audit.jsonl").read_text().splitlines()
    assert json.loads(line)["action"] == "login"
    assert AuditRecord.objects.count() == 2
