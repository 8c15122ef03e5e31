"""Files and functions stay small enough to be read."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def sources() -> Iterator[Path]:
    for folder in ("apps", "config"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path


def over_budget(path: Path) -> Iterator[str]:
    text = path.read_text()
    if text.count("\n") > 400:
        yield str(path)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 60:
            yield f"{path}: {node.name}"


def test_files_and_functions_keep_to_their_budgets() -> None:
    assert [one for path in sources() for one in over_budget(path)] == []


def test_the_top_level_holds_what_the_map_says() -> None:
    entries = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert entries - {"__pycache__"} == {
        "manage.py", "pyproject.toml", "requirements.txt", "README.md", "CHANGELOG.md", "Makefile",
        "config", "apps", "tests",
    }  # fmt: skip
