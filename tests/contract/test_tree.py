"""The top level of the tree keeps its shape."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_top_level_holds_what_the_map_says() -> None:
    entries = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert entries - {"__pycache__"} == {
        "manage.py", "pyproject.toml", "requirements.txt", "README.md", "CHANGELOG.md", "Makefile",
        "config", "apps", "tests",
    }  # fmt: skip
