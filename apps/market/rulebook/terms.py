"""Ticks and margins of a kind of contract by date, where no master tells them."""

from datetime import date
from decimal import Decimal
from typing import TypeVar

from apps.engine.symbols import Symbol
from apps.market.rulebook.rows import ContractKind, MarginRow, TickRow
from apps.market.rulebook.rule_set import RuleSet

Dated = TypeVar("Dated", TickRow, MarginRow)


def kind_of(symbol: Symbol, *, on_index: bool) -> ContractKind:
    """By the symbol's form, and by whether its underlying is an index, which the form does not
    tell. The bare name of a commodity is its continuous future.
    """
    if symbol.exchange in ("MCX", "NCDEX"):
        return "goods_option" if symbol.type == "options" else "goods_future"
    if symbol.type == "equity":
        return "share"
    if symbol.type == "futures":
        return "index_future" if on_index else "stock_future"
    return "index_option" if on_index else "stock_option"


def tick_of(
    book: RuleSet, exchange: str, kind: ContractKind, *, price: Decimal, day: date
) -> Decimal | None:
    """The step of prices around `price` rupees; None where nothing is known of it."""
    rows = _in_force(book.ticks, exchange, kind, day)
    bands = [row for row in rows if row.below is None or price < row.below]
    lowest = min(bands, key=lambda row: row.below or Decimal("Infinity"), default=None)
    return None if lowest is None else lowest.tick


def margin_of(book: RuleSet, exchange: str, kind: ContractKind, day: date) -> MarginRow | None:
    """None where the whole value is locked."""
    return next(iter(_in_force(book.margins, exchange, kind, day)), None)


def dates_of(rows: tuple[Dated, ...], exchange: str, kind: ContractKind) -> set[date]:
    """Dates from which rows hold."""
    return {row.first_date for row in rows if exchange in row.exchanges and kind in row.kinds}


def _in_force(rows: tuple[Dated, ...], exchange: str, kind: ContractKind, day: date) -> list[Dated]:
    """The rows of the newest date that has begun."""
    begun = [
        row
        for row in rows
        if exchange in row.exchanges and kind in row.kinds and row.first_date <= day
    ]
    newest = max((row.first_date for row in begun), default=day)
    return [row for row in begun if row.first_date == newest]
