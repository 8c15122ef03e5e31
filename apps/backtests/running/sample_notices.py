"""The notice on generated candles that a result rests on."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from apps.backtests.models import Backtest
from apps.core.times import moment
from apps.engine import History
from apps.market.candles import SAMPLE_NOTICE, GeneratedBars, sample_notice


def notice_on_result(backtest: Backtest) -> str:
    """Return the notice on a stored result, empty if none of its candles was generated.

    Results of earlier releases name the symbols and no more: a sample was generated as a whole.
    """
    receipt: Mapping[str, Any] = backtest.receipt or {}
    coverages = {row["symbol"]: row for row in receipt.get("coverage", ())}
    generated = []
    for symbol in receipt.get("synthetic", ()):
        coverage = coverages.get(symbol, {})
        until, last = coverage.get("generatedUntil"), coverage.get("lastBar")
        if until is None or last is None:
            return SAMPLE_NOTICE
        generated.append(GeneratedBars(symbol, datetime.fromisoformat(until), until >= last))
    return sample_notice(generated)


def notice_on_histories(histories: Iterable[History]) -> str:
    """Return the notice on candles that are simulated, empty if none is generated."""
    return sample_notice(
        GeneratedBars(
            history.symbol,
            moment(history.generated_until),
            history.generated_until >= history.candles.time[-1],
        )
        for history in histories
        if history.generated_until is not None
    )
