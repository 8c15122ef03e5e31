"""Where tests find real market data: the directory that MARKET_DATA_DIR names."""

import os
from pathlib import Path

import pytest


def market_file(name: str) -> Path:
    """The path of a file of real data; skips the test where there is none."""
    directory = os.environ.get("MARKET_DATA_DIR")
    if not directory:
        pytest.skip("MARKET_DATA_DIR is not set: no real market data to test on")
    path = Path(directory) / name
    if not path.exists():
        pytest.skip(f"{name} is not in MARKET_DATA_DIR")
    return path
