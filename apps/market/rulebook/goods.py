"""Goods of the commodity exchanges, told by the underlying's name."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from apps.engine.symbols import Symbol
from apps.market.rulebook.rows import CommodityGroup, CommodityRow
from apps.market.rulebook.rule_set import RuleSet

_UNLISTED: Final[Mapping[str, CommodityGroup]] = {"MCX": "non_agri", "NCDEX": "agri"}
"""What most goods of an exchange are: those that are something else are listed."""


def commodity_group_of(book: RuleSet, symbol: Symbol) -> CommodityGroup:
    """The group of a symbol of MCX or NCDEX."""
    listed = commodity_of(book, symbol)
    return _UNLISTED[symbol.exchange] if listed is None else listed.group


def commodity_of(book: RuleSet, symbol: Symbol) -> CommodityRow | None:
    """The row of a symbol's underlying, if it is listed."""
    return _commodities(book).get((symbol.exchange, symbol.root))


@lru_cache(maxsize=8)
def _commodities(book: RuleSet) -> Mapping[tuple[str, str], CommodityRow]:
    return {(row.exchange, row.root): row for row in book.commodities}
