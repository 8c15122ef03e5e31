"""A check that the trades of a result are possible: positions that no exchange or broker accepts,
and orders that are large for their bars.
"""

from __future__ import annotations

from math import ceil, nan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import ist_day
from apps.engine.candles.symbols import Symbol
from apps.engine.evidence.figures import TradabilityFigures
from apps.engine.evidence.inputs import EvidenceInput, EvidenceThresholds
from apps.engine.evidence.sections import (
    CheckStatus,
    EvidenceCheck,
    EvidenceSection,
    percent_text,
    rounded_figure,
)
from apps.engine.kernel.codes import BY_END_OF_DATA, BY_EXPIRY
from apps.engine.results.fill_quality import THIN_SHARE, is_thin, volume_shares
from apps.engine.studies.figures import percentiles_of
from apps.engine.units import Unit, rupees_text

Floats = NDArray[np.float64]

TRADABILITY: Final = "tradability"
ESTIMATED_MARGIN: Final = "estimated_margin"
"""The note on a symbol whose margin is an estimate."""
_NOT_LOOKED_AT: Final = (
    "Shares to borrow, F&O bans and position limits.",
    "The prices at which orders this large would fill.",
)


def tradability_section(evidence: EvidenceInput) -> EvidenceSection[TradabilityFigures]:
    """Return the number of impossible trades, and the size of fills relative to their bars."""
    thresholds = evidence.thresholds
    quantity, volume = shares_of_volume(evidence)
    capital = largest_capital(quantity, volume, evidence.inputs.capital, thresholds)
    known = volume_shares(quantity, volume)
    known = known[~np.isnan(known)]
    shorts, sold = shorts_over_night(evidence), sold_options(evidence)
    check = _check(evidence, shorts, sold, capital)
    return EvidenceSection(
        TRADABILITY,
        TradabilityFigures(
            shortsOverNight=shorts,
            soldOptions=sold,
            volume={
                "fills": int((~np.isnan(volume)).sum()),
                "percentOfBar": percentiles_of(known * 100, Unit.PERCENT) if len(known) else None,
                "largerThanPercent": THIN_SHARE * 100,
                "larger": int(is_thin(quantity, volume).sum()),
            },
            largestCapital=rounded_figure(capital, Unit.RUPEES),
            failsFromVolumeShare=thresholds.volume_share,
            failsFromShareOfFills=thresholds.large_fills,
        ),
        check.reason + _capital_note(capital, thresholds),
        (*_NOT_LOOKED_AT, *(["Volume: the candles have none."] if capital is None else [])),
        check,
    )


def shorts_over_night(evidence: EvidenceInput) -> int:
    """Return the number of trades that held shares short overnight: exchanges allow that only
    intraday.
    """
    trades = evidence.trades
    days = [ist_day(np.ascontiguousarray(trades[name])) for name in ("entry_time", "exit_time")]
    shares = [Symbol.parse(symbol).type == "equity" for symbol in evidence.data.symbols]
    is_share = np.array(shares)[trades["symbol"]]
    return int((is_share & (trades["side"] < 0) & (days[0] < days[1])).sum())


def sold_options(evidence: EvidenceInput) -> int:
    """Return the number of trades that sold options with an estimated margin."""
    histories = {history.symbol: history for history in evidence.inputs.histories}
    estimated = [
        Symbol.parse(symbol).type == "options"
        and any(note.code == ESTIMATED_MARGIN for note in histories[symbol].notes)
        for symbol in evidence.data.symbols
    ]
    is_estimated = np.array(estimated)[evidence.trades["symbol"]]
    return int((is_estimated & (evidence.trades["side"] < 0)).sum())


def shares_of_volume(evidence: EvidenceInput) -> tuple[Floats, Floats]:
    """Return quantity and volume of the bar of each fill of an order; NaN for unknown volume."""
    fills = evidence.fills[~np.isin(evidence.fills["reason"], (BY_END_OF_DATA, BY_EXPIRY))]
    volume = np.full(len(fills), nan)
    for symbol, candles in enumerate(evidence.data.candles):
        own = np.flatnonzero(fills["symbol"] == symbol)
        if candles.volume.any():
            volume[own] = candles.volume[np.searchsorted(candles.time, fills["time"][own])]
    return np.ascontiguousarray(fills["quantity"]), volume


def largest_capital(
    quantity: Floats, volume: Floats, capital: float, thresholds: EvidenceThresholds
) -> float | None:
    """Return the capital at which a share of the fills takes too much of the volume of their bars,
    if quantities grow with it; None without known volumes.
    """
    known = ~np.isnan(volume)
    if not known.any():
        return None
    with np.errstate(divide="ignore"):
        shares = np.sort(quantity[known] / volume[known])[::-1]
    largest = shares[ceil(thresholds.large_fills * len(shares)) - 1]
    return float(capital * thresholds.volume_share / largest)


def _check(evidence: EvidenceInput, shorts: int, sold: int, capital: float | None) -> EvidenceCheck:
    thresholds, failed = evidence.thresholds, list[str]()
    if shorts:
        failed.append(
            f"{shorts:,} of {len(evidence.trades):,} trades are short in shares overnight, which"
            " exchanges do not allow. Trade the future, or exit on the same day."
        )
    if capital is not None and capital < evidence.inputs.capital:
        failed.append(
            f"Orders are too large: {percent_text(thresholds.large_fills)} of them or more exceed"
            f" {percent_text(thresholds.volume_share)} of their candle's volume. Trade smaller, or"
            " more liquid symbols."
        )
    if not len(evidence.trades):
        status, reason = CheckStatus.UNKNOWN, "No trades to check."
    elif failed:
        status, reason = CheckStatus.FAIL, " ".join(failed)
    elif sold:
        status = CheckStatus.DOUBT
        reason = (
            f"{sold:,} trades sell options on an estimated margin. Your broker may ask for more."
        )
    else:
        status, reason = CheckStatus.PASS, "These trades and order sizes are possible."
    return EvidenceCheck(TRADABILITY, status, reason)


def _capital_note(capital: float | None, thresholds: EvidenceThresholds) -> str:
    if capital is None:
        return ""
    return (
        f" Above {rupees_text(capital)} of capital, {percent_text(thresholds.large_fills)} of the"
        f" orders would exceed {percent_text(thresholds.volume_share)} of their candle's volume."
    )
