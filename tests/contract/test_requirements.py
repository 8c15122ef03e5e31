"""The pinned packages: the service needs none of our tools, and both lists agree."""

import re
import tomllib
from pathlib import Path

import pytest

from apps.market.feeds import kite

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def canonical(requirement: str) -> str:
    name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(path: str) -> dict[str, str]:
    """Return versions keyed by name; a pin needs a hash."""
    matches = re.findall(
        r"^([A-Za-z0-9._-]+)==(\S+)[^\n]*\\\n +--hash=sha256:",
        (ROOT / path).read_text(),
        re.MULTILINE,
    )
    return {canonical(name): version for name, version in matches}


RUNTIME, TOOLS = pins("requirements.txt"), pins("tests/requirements.txt")


def test_packages_of_the_service_are_pinned_without_tools() -> None:
    wanted = {canonical(requirement) for requirement in PROJECT["project"]["dependencies"]}
    assert wanted <= RUNTIME.keys()
    assert not {"pytest", "mypy", "ruff", "hypothesis", "schemathesis"} & RUNTIME.keys()


def test_packages_of_tests_are_pinned_separately_in_the_same_versions() -> None:
    wanted = {canonical(requirement) for requirement in PROJECT["dependency-groups"]["dev"]}
    assert wanted <= TOOLS.keys() | RUNTIME.keys()
    both = RUNTIME.keys() & TOOLS.keys()
    assert {name: RUNTIME[name] for name in both} == {name: TOOLS[name] for name in both}


@pytest.mark.parametrize("path", ["requirements.txt", "tests/requirements.txt"])
def test_every_pin_has_hashes(path: str) -> None:
    lines = (ROOT / path).read_text().splitlines()
    assert len(pins(path)) == len({line.split("==")[0] for line in lines if "==" in line})


def test_the_feed_of_kite_is_an_extra_that_the_tests_have() -> None:
    [extra] = PROJECT["project"]["optional-dependencies"]["kite"]
    assert extra in PROJECT["dependency-groups"]["dev"]
    assert "kiteconnect" not in RUNTIME
    assert "kiteconnect" in TOOLS
    assert extra in kite.INSTALL
