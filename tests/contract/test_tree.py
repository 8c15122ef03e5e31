"""The top level of the tree keeps its shape, and the version is in one place."""

import re
import tomllib
from pathlib import Path

from django.conf import settings

ROOT = Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_top_level_matches_the_map() -> None:
    entries = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert entries - {"__pycache__"} == set(
        """
        manage.py pyproject.toml requirements.txt README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md
        LICENSE Makefile config apps tests
    """.split()
    )


def test_the_service_and_the_client_give_the_version_of_the_project() -> None:
    assert VERSION == settings.VERSION == settings.SPECTACULAR_SETTINGS["VERSION"]
    client = tomllib.loads((ROOT / "apps" / "client" / "pyproject.toml").read_text())
    assert client["project"]["version"] == VERSION
    assert [*client["project"]["dependencies"]] == ["httpx>=0.27,<1"]


def test_the_changelog_begins_with_the_version_and_falls_from_there() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    releases = re.findall(r"^## \[([\d.]+)\] - (\d{4}-\d{2}-\d{2})$", text, re.MULTILINE)
    assert releases[0][0] == VERSION
    assert releases == sorted(releases, reverse=True)
