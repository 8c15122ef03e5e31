"""The seeds of the proofs of evidence."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--runs", type=int, help="runs of each proof of evidence")
    parser.addoption("--first-seed", type=int, help="the seed of the first of them")
