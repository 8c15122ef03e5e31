"""Exchange-traded funds, as the rulebook lists them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from apps.engine.symbols import Symbol
from apps.market.rulebook.rows import EtfKind
from apps.market.rulebook.rule_set import RuleSet


def etf_kind_of(book: RuleSet, symbol: Symbol) -> EtfKind | None:
    """Return the kind of a fund by its symbol; None for anything else."""
    return _kinds(book).get((symbol.exchange, symbol.code))


@lru_cache(maxsize=8)
def _kinds(book: RuleSet) -> Mapping[tuple[str, str], EtfKind]:
    return {
        (exchange, row.root): cast(EtfKind, f"{row.kind}_etf")
        for row in book.etfs
        for exchange in row.exchanges
    }
