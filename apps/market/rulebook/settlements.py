"""The end of contracts (engine rule 13): contracts on an index settle in cash at its close; others
are delivered, so positions are closed before.
"""

from dataclasses import dataclass
from datetime import date
from math import nan
from typing import Final

from apps.core.times import day_in_india
from apps.engine import Note, Settlement
from apps.engine.candles import Symbol
from apps.market.rulebook.charges import INTRINSIC_SINCE, ChargeBasis, exercise_tax_of
from apps.market.rulebook.files.rows import ContractKind
from apps.market.rulebook.files.rule_set import RuleSet

# Contracts on shares were settled in cash before: SEBI's circular CIR/P/2018/67 of 2018-04-11, for
# expiries from July 2018 on.
_SHARES_DELIVERED_SINCE: Final = date(2018, 7, 1)


@dataclass(frozen=True, slots=True)
class UnderlyingClose:
    """The price of an underlying at the end of a date, and its source; `is_official` for the stored
    candle of the day.
    """

    price: float
    found_as: str
    is_official: bool = False


@dataclass(frozen=True, slots=True)
class ContractEnd:
    """The end of a contract after its last session and notes for a result with a position held to
    it.

    `closes` is the close of that session (epoch seconds).
    """

    closes: int
    delivered: bool
    settlement: Settlement
    notes: tuple[Note, ...]


def underlying_of(contract: Symbol) -> str:
    """Return the symbol of a contract's underlying."""
    return f"{contract.exchange}:{contract.root}"


def is_delivered(kind: ContractKind, expiry: date) -> bool:
    """Return whether a contract of a kind ends by delivery."""
    if kind.startswith("stock"):
        return expiry >= _SHARES_DELIVERED_SINCE
    return kind.startswith("goods")


def contract_end_of(
    rule_set: RuleSet,
    contract: Symbol,
    *,
    kind: ContractKind,
    closes: int,
    underlying: UnderlyingClose | None,
    basis: ChargeBasis | None,
) -> ContractEnd:
    """Return the end of a contract; without a `basis` no tax is charged."""
    day = day_in_india(closes - 1)
    if is_delivered(kind, day):
        message = (
            f"{contract} is settled by delivery: a position that is held to its last session,"
            f" {day}, is closed in it at the square-off time."
        )
        note = Note("physical_settlement_avoided", message)
        return ContractEnd(closes, delivered=True, settlement=Settlement(), notes=(note,))
    tax = 0.0 if basis is None else float(exercise_tax_of(rule_set, basis, day))
    if underlying is None:
        message = (
            f"{contract} settles at its own last close, as no price of its underlying is stored."
        )
        note = Note("approximate_settlement", message)
        return ContractEnd(closes, False, Settlement(nan, tax), (note,))
    price = _settlement_price(contract, underlying.price)
    if contract.type == "options" and day < INTRINSIC_SINCE and price > 0:
        tax *= underlying.price / price
    notes: tuple[Note, ...] = ()
    if not underlying.is_official:
        message = f"{contract} settles by {underlying.found_as}, as no candle of the day is stored."
        notes = (Note("approximate_settlement", message),)
    return ContractEnd(closes, False, Settlement(price, tax), notes)


def _settlement_price(contract: Symbol, underlying: float) -> float:
    """Return the price of a future, or the value of an option at exercise."""
    if contract.type != "options":
        return underlying
    assert contract.strike is not None
    above = underlying - contract.strike
    return round(max(above if contract.option_type == "CE" else -above, 0.0), 4)
