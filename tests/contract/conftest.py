"""Which row of wrong requests is sent."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--mutation-seed", type=int, default=1, help="another row of wrong requests (default 1)"
    )


@pytest.fixture(scope="session")
def mutation_seed(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("mutation_seed", default=1))
