"""Fixtures for tests of backtests."""

import pytest

from apps.backtests.running import shards
from tests.backtests.price_series import wave_candles
from tests.market.bars import store_candles


@pytest.fixture
def history(db: None) -> None:
    """Store history of NSE:NIFTY at 15m, around February 2024."""
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide every study after a few items."""
    monkeypatch.setattr(shards, "SECONDS_ALONE", 0)
    monkeypatch.setattr(shards, "SECONDS_MEASURED", 0)
    monkeypatch.setattr(shards, "FIRST_ITEMS", 1)
