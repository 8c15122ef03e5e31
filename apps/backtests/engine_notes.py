"""What is known today of the engine that made a result."""

from dataclasses import asdict
from typing import Any

from apps.backtests.models import Backtest
from apps.engine import notes_on_engine


def engine_notes(backtest: Backtest) -> list[dict[str, str]]:
    """Return the notes, which lead all others; none before there is a result."""
    if backtest.receipt is None:
        return []
    notes = notes_on_engine(backtest.receipt["engineVersion"], backtest.configuration)
    return list(map(asdict, notes))


def noted_receipt(backtest: Backtest) -> dict[str, Any] | None:
    """Return the receipt with these notes; None before there is a result."""
    receipt: dict[str, Any] | None = backtest.receipt
    if receipt is None:
        return None
    return {**receipt, "notes": [*engine_notes(backtest), *receipt["notes"]]}
