"""Groups of goods on the commodity exchanges, told by the underlying's name."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from apps.engine.symbols import Symbol
from apps.market.rulebook.book import Rulebook
from apps.market.rulebook.rows import Group

_UNLISTED: Final[Mapping[str, Group]] = {"MCX": "non_agri", "NCDEX": "agri"}
"""What most goods of an exchange are: those that are something else are listed."""


def group_of(book: Rulebook, symbol: Symbol) -> Group:
    """The group of a symbol of MCX or NCDEX."""
    return _groups(book).get((symbol.exchange, symbol.root), _UNLISTED[symbol.exchange])


@lru_cache(maxsize=8)
def _groups(book: Rulebook) -> Mapping[tuple[str, str], Group]:
    return {(row.exchange, row.root): row.group for row in book.commodities}
