"""Client generators accept the OpenAPI document as it is, and make a client with every call.

Each is looked for on the path, beside this Python and in CLIENT_GENERATORS (a folder), and its test
is skipped if it is missing: `pip install openapi-python-client datamodel-code-generator
pydantic[email] openapi-generator-cli` (the last needs Java), `npm install openapi-typescript
typescript`.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.openapi import document

pytestmark = pytest.mark.proof

SECONDS = 300


def _tool(name: str) -> str:
    """Return the path of a program; skip the test without it."""
    folders = [
        os.environ.get("CLIENT_GENERATORS", ""),
        str(Path(sys.executable).parent),
        os.environ["PATH"],
    ]
    path = shutil.which(name, path=os.pathsep.join(filter(None, folders)))
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def _run(*command: str | Path, folder: Path) -> str:
    environment = {**os.environ, "PATH": f"{Path(str(command[0])).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        timeout=SECONDS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "openapi.json").write_bytes(orjson.dumps(document()))
    return tmp_path


def _calls() -> set[str]:
    return {
        operation["operationId"]
        for item in document()["paths"].values()
        for operation in item.values()
    }


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), name)


def test_openapi_python_client_makes_a_module_of_every_call(folder: Path) -> None:
    tool = _tool("openapi-python-client")
    output = _run(
        tool,
        "generate",
        "--path",
        "openapi.json",
        "--output-path",
        "client",
        "--meta",
        "none",
        folder=folder,
    )
    assert "Unable to" not in output
    modules = {path.stem for path in (folder / "client" / "api").rglob("*.py")} - {"__init__"}
    assert modules == {_snake(name) for name in _calls()}


def test_datamodel_code_generator_makes_models_that_can_be_imported(folder: Path) -> None:
    tool = _tool("datamodel-codegen")
    _run(
        tool,
        "--input",
        "openapi.json",
        "--input-file-type",
        "openapi",
        "--output",
        "models.py",
        "--output-model-type",
        "pydantic_v2.BaseModel",
        folder=folder,
    )
    python = Path(tool).with_name("python")
    _run(python if python.exists() else sys.executable, "-c", "import models", folder=folder)


def test_openapi_typescript_makes_types_that_tsc_accepts(folder: Path) -> None:
    _run(_tool("openapi-typescript"), "openapi.json", "-o", "api.d.ts", folder=folder)
    _run(_tool("tsc"), "--noEmit", "--strict", "--skipLibCheck", "false", "api.d.ts", folder=folder)
    types = (folder / "api.d.ts").read_text()
    assert {name for name in _calls() if f"    {name}: {{" not in types} == set()


def test_openapi_generator_makes_a_method_of_every_call(folder: Path) -> None:
    _run(
        _tool("openapi-generator-cli"),
        "generate",
        "-i",
        "openapi.json",
        "-g",
        "python",
        "-o",
        "client",
        folder=folder,
    )
    _run(sys.executable, "-m", "compileall", "-q", "client", folder=folder)
    code = "".join(path.read_text() for path in (folder / "client").rglob("*_api.py"))
    assert {name for name in _calls() if f"def {_snake(name)}(" not in code} == set()
