"""The journeys of the READMEs, by the client as users install it: in a fresh environment.

The quick case runs in the environment of the tests; tests/contract/test_readmes.py runs the blocks
of the shell there.
"""

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.core.management import call_command

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.backtests.models import Backtest
from tests.backtests.workers import run_all_queued
from tests.conftest import client_of
from tests.contract.readme_service import ExampleService
from tests.contract.readmes import BLOCKS, Block
from tests.contract.test_readmes import store_sample_until
from tests.processes import PROJECT

PASSWORD = "a long password"
CLIENT = "apps/client/README.md"

pytestmark = [pytest.mark.timeout(180), pytest.mark.django_db]


@dataclass(frozen=True)
class Environment:
    """A virtual environment with the client, installed or as its source."""

    folder: Path
    source: Path | None = None

    def variables(self, home: Path) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        source = {"PYTHONPATH": str(self.source)} if self.source else {}
        return {**inherited, **source, "PATH": path, "HOME": str(home)}


OF_TESTS = Environment(Path(sys.prefix), PROJECT / "apps" / "client")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Install the client by pip, as its README says; pip itself is that of the tests."""
    folder = tmp_path_factory.mktemp("client") / "venv"
    venv.create(folder, symlinks=True)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install"),
            *("--quiet", "--disable-pip-version-check", PROJECT / "apps" / "client"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if "No matching distribution" in done.stderr:
        pytest.skip("no package index: pip found no httpx or flit_core")
    assert done.returncode == 0, done.stderr
    return Environment(folder)


@pytest.fixture
def sample() -> None:
    call_command("seed_symbols", verbosity=0)
    store_sample_until("2026-06-29 09:30")


def run(words: list[str], environment: Environment, home: Path, *, text: str = "") -> str:
    """Run a program against the service of the examples; return its output and its errors.

    `localhost:8000` in the words is the address of the service.
    """
    with ExampleService(client_of(), run_all_queued) as examples:
        address = f"localhost:{examples.server_port}"
        (home / "typed").write_text(text)
        with (
            (home / "typed").open() as typed,
            (home / "output").open("w") as output,
            subprocess.Popen(
                [word.replace("localhost:8000", address) for word in words],
                cwd=home,
                env=environment.variables(home),
                stdin=typed,
                stdout=output,
                stderr=subprocess.STDOUT,
            ) as process,
        ):
            examples.serve(process)
    written = (home / "output").read_text()
    assert process.returncode == 0, written
    return written


def block(page: str, language: str, part: str) -> Block:
    """Return the only block of a page in this language with this part."""
    [only] = [
        block
        for block in BLOCKS
        if (block.page, block.language) == (page, language) and part in block.text
    ]
    return only


@pytest.mark.slow
@pytest.mark.usefixtures("sample")
def test_six_lines_lead_to_a_report_and_paper_trading(
    environment: Environment, tmp_path: Path
) -> None:
    journey = block("README.md", "sh", "algotrade login").text
    assert len(journey.splitlines()) <= 6
    output = run(
        ["bash", "-euxo", "pipefail", "-c", journey], environment, tmp_path, text=f"{PASSWORD}\n"
    )
    assert "/reports/" in output
    assert Algorithm.objects.get().status == "active"
    assert Backtest.objects.get().status == "completed"
    assert PASSWORD not in output
    [file] = (tmp_path / ".config").rglob("login.json")
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize("is_fresh", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_twelve_lines_of_python_lead_there_too(
    request: pytest.FixtureRequest, tmp_path: Path, is_fresh: bool
) -> None:
    environment = request.getfixturevalue("environment") if is_fresh else OF_TESTS
    journey = block("README.md", "python", "algotrade_client").text
    assert len(journey.splitlines()) <= 12
    output = run(["python", "-c", journey], environment, tmp_path)
    assert "/reports/" in output
    assert Algorithm.objects.get().status == "active"


@pytest.mark.slow
@pytest.mark.usefixtures("sample")
def test_the_page_of_the_client_runs_after_a_login(
    environment: Environment, tmp_path: Path
) -> None:
    login = [
        "algotrade",
        "login",
        "http://localhost:8000",
        "--sign-up",
        "--email",
        "me@example.com",
    ]
    example = block(CLIENT, "python", "Client.saved").text
    shell = f"{' '.join(login)} --name Me\npython - <<'END'\n{example}END\n"
    output = run(["bash", "-euo", "pipefail", "-c", shell], environment, tmp_path, text=PASSWORD)
    assert "ValidationError exitConditions.stopLos" in output
    assert User.objects.count() == 1


@pytest.mark.slow
def test_the_environment_has_nothing_of_the_service(environment: Environment) -> None:
    names = {path.name for path in environment.folder.glob("lib/python*/site-packages/*")}
    assert {"algotrade_client", "httpx"} <= names
    assert not {"django", "numpy", "pyarrow", "pandas", "rich", "apps"} & names
