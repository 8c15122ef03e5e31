"""The differences between two receipts of one backtest: no database, no simulation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

# The inputs of a result, the likeliest causes of a difference first; candles come last.
_INPUTS: Final[Mapping[str, str]] = {
    "engineVersion": "Engine version {original} made the original, version {reproduced} this one:"
    " the changelog says what changed.",
    "configuration": "The steps are not those of the original.",
    "study": "The configuration of the study is not that of the original.",
    "rulebook": "Charges, contract terms or session hours are not those of the original.",
    "alerts": "The alerts that were read are not those of the original.",
}
_MAX_MONTHS_NAMED: Final = 6


class ReceiptWithCandles(NamedTuple):
    """A receipt in wire form, and its candles by symbol, timeframe and month: the fields of
    `engine.simulation.receipt.CandleSeries`.
    """

    receipt: Mapping[str, Any]
    candle_series: Sequence[Mapping[str, Any]]


class HashPair(NamedTuple):
    """A line of both receipts; `is_equal` is None if the two cannot be compared."""

    name: str
    original: str | None
    reproduced: str | None
    is_equal: bool | None


@dataclass(frozen=True, slots=True)
class ReceiptComparison:
    """`is_equal` is True if the results are equal to the last byte; `differences` are sentences."""

    is_equal: bool
    hashes: tuple[HashPair, ...]
    differences: tuple[str, ...]


def compare_receipts(
    original: ReceiptWithCandles, reproduced: ReceiptWithCandles
) -> ReceiptComparison:
    """Compare the inputs of two results, and the results."""
    inputs = [_pair(name, original, reproduced) for name in _INPUTS]
    candles, result = (_pair(name, original, reproduced) for name in ("candles", "result"))
    differences = [
        _INPUTS[pair.name].format(original=pair.original, reproduced=pair.reproduced)
        for pair in inputs
        if not pair.is_equal
    ]
    if not candles.is_equal:
        differences += _differing_candles(original, reproduced)
    if not differences and not result.is_equal:
        differences.append("Every input is equal and the result is not: this is a defect.")
    decisions = list(_decisions(original, reproduced))
    if any(pair.is_equal is False for pair in decisions):
        differences.append("The strategy decides otherwise than it did in the original.")
    return ReceiptComparison(
        bool(result.is_equal), (*inputs, candles, *decisions, result), tuple(differences)
    )


def _decisions(original: ReceiptWithCandles, reproduced: ReceiptWithCandles) -> Iterator[HashPair]:
    """Yield the hashes of the decisions in the certificates of the look-ahead, if the original has
    one. They cannot be compared if the reproduction has none, or examined others.
    """
    before, after = (receipt.get("lookAhead") or {} for receipt, _ in (original, reproduced))
    if before:
        hashes = before["hash"], after.get("hash")
        is_comparable = before["engineVersion"] == after.get("engineVersion")
        yield HashPair("lookAhead", *hashes, hashes[0] == hashes[1] if is_comparable else None)


def _pair(name: str, original: ReceiptWithCandles, reproduced: ReceiptWithCandles) -> HashPair:
    before, after = original.receipt.get(name), reproduced.receipt.get(name)
    original_text, reproduced_text = (
        None if value is None else str(value) for value in (before, after)
    )
    return HashPair(name, original_text, reproduced_text, before == after)


def _differing_candles(
    original: ReceiptWithCandles, reproduced: ReceiptWithCandles
) -> Iterator[str]:
    """Yield a sentence for each symbol and timeframe with different candles."""
    before, after = (
        {(series["symbol"], series["timeframe"]): series["months"] for series in held}
        for held in (original.candle_series, reproduced.candle_series)
    )
    for symbol, timeframe in dict.fromkeys((*before, *after)):
        then = before.get((symbol, timeframe), {})
        now = after.get((symbol, timeframe), {})
        months = sorted(
            month for month in then.keys() | now.keys() if then.get(month) != now.get(month)
        )
        changed = [month for month in months if month in then and month in now]
        lost = [month for month in months if month not in now]
        added = [month for month in months if month not in then]
        parts = [
            f"{verb} {_name_months(group)}"
            for verb, group in (
                ("differ in", changed),
                ("are missing in", lost),
                ("were added in", added),
            )
            if group
        ]
        if parts:
            yield f"Candles of {symbol} ({timeframe}) {', '.join(parts)}."


def _name_months(months: Sequence[str]) -> str:
    more = len(months) - _MAX_MONTHS_NAMED
    named = ", ".join(months[:_MAX_MONTHS_NAMED])
    return f"{named} and {more} months more" if more > 0 else named
