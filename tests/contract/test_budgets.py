"""Files and functions stay small enough to be read."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    path
    for folder in ("apps", "config")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "migrations" not in path.parts
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_and_its_functions_keep_to_their_budget(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= (600 if path.name == "kernel.py" else 400)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
            longest = 100 if (path.name, node.name) == ("kernel.py", "run_rows") else 60
            assert node.end_lineno - node.lineno < longest, node.name


def test_the_top_level_holds_what_the_map_says() -> None:
    entries = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert entries - {"__pycache__"} == {
        "manage.py", "pyproject.toml", "requirements.txt", "README.md", "CHANGELOG.md", "Makefile",
        "config", "apps", "tests",
    }  # fmt: skip
