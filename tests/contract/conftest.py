"""The rows of wrong requests to send, and the number of random ones."""

import logging
from collections.abc import Iterator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--mutation-seed", type=int, default=1, help="another row of wrong requests (default 1)"
    )
    parser.addoption(
        "--fuzz-examples", type=int, default=100, help="random requests an operation (default 100)"
    )


@pytest.fixture(scope="session")
def mutation_seed(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("mutation_seed", default=1))


@pytest.fixture(scope="session")
def fuzz_examples(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("fuzz_examples", default=100))


@pytest.fixture
def quiet() -> Iterator[None]:
    """Tens of thousands of log lines would cost more than the requests."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)
