"""Judging the prices of a file by the known corporate actions: as traded, or adjusted by its
source.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from apps.core.times import day_in_india
from apps.engine.candles import Symbol
from apps.market.candles.corporate_actions import ratio_changes
from apps.market.candles.price_kinds import PriceKind, PriceProof, compare_with_changes
from apps.market.importers.candle_file import CandleImport
from apps.market.importers.cleaner import InstrumentBars
from apps.market.importers.tables.content import BadCandleFile


def judged(loaded: CandleImport, *, given: PriceKind | None) -> CandleImport:
    """Return the file with the kind of each share's prices: proven by actions inside the file, else
    as given, else by its format, else None.

    Raises BadCandleFile if these contradict each other, and if an action inside the file proves
    nothing and no kind is given.
    """
    stated = given or loaded.report.prices
    shares = [part.symbol for part in loaded.instruments if _is_share(part.symbol)]
    is_of_exchange = given is None and stated is PriceKind.RAW
    if is_of_exchange or not shares or loaded.timeframe == "1w":
        parts = [replace(part, prices=stated) for part in loaded.instruments]
        return replace(loaded, instruments=tuple(parts))
    until = max(int(part.candles.time[-1]) for part in loaded.instruments)
    changes = ratio_changes(shares, until=day_in_india(until))
    parts = []
    for part in loaded.instruments:
        proof = compare_with_changes(part.candles, changes.get(part.symbol, ()))
        _refuse_contradiction(loaded, part, proof, stated)
        parts.append(replace(part, prices=proof.kind or stated))
    return replace(loaded, instruments=tuple(parts))


def _refuse_contradiction(
    loaded: CandleImport, part: InstrumentBars, proof: PriceProof, stated: PriceKind | None
) -> None:
    if proof.falls and proof.level:
        reason = (
            f"{part.symbol}: its prices are as traded on {_days(proof.falls)} and adjusted on"
            f" {_days(proof.level)}: load a file of one kind"
        )
    elif proof.kind is not None and stated not in (None, proof.kind):
        seen = f"fall by the ratio on {_days(proof.falls)}"
        if proof.level:
            seen = f"do not fall on {_days(proof.level)}, the day of a split or bonus"
        reason = f"{part.symbol}: its prices {seen}, so they are {proof.kind}, not {stated}"
    elif proof.kind is None and proof.unclear and stated is None:
        reason = (
            f"{part.symbol}: a split or bonus of {_days(proof.unclear)} lies inside, and the bars"
            " around it do not tell whether prices are adjusted for it: say raw or adjusted prices"
        )
    else:
        return
    raise BadCandleFile(file=loaded.file, reason=reason)


def _is_share(symbol: str) -> bool:
    return Symbol.parse(symbol).type == "equity"


def _days(days: Iterable[int]) -> str:
    return ", ".join(str(np.datetime64(day, "D")) for day in days)
