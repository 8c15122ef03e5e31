"""The trades of a result with the figures that candles add to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.kernel.records import TRADE, Array
from apps.engine.results.excursions import Excursions
from apps.engine.results.fill_quality import FillQuality
from apps.engine.results.trade_figures import net_profits, trade_returns
from apps.engine.results.wire_records import ClosedTrade, trade_dicts

Floats = NDArray[np.float64]


class Trades(NamedTuple):
    """TRADE records in the order of their exits, with the excursions and fills of each; these are
    None in results of releases that did not record them.
    """

    records: Array
    excursions: Excursions | None = None
    fills: FillQuality | None = None

    @classmethod
    def joined(cls, parts: Iterable[tuple[Array, Floats | None, Floats | None]]) -> Trades:
        """Return the trades of parts in order: their records, and the columns of their excursions
        and of their fills. If a part lacks such columns, the whole has none.
        """
        records, excursions, fills = [np.empty(0, TRADE)], list[Floats | None](), []
        for part, excursion_columns, fill_columns in parts:
            records.append(part)
            excursions.append(excursion_columns)
            fills.append(fill_columns)
        of_excursions = _joined_columns(excursions, len(Excursions._fields))
        of_fills = _joined_columns(fills, len(FillQuality._fields))
        return cls(
            np.concatenate(records),
            None if of_excursions is None else Excursions(*of_excursions),
            None if of_fills is None else FillQuality(*of_fills),
        )

    @property
    def net_profits(self) -> Floats:
        return net_profits(self.records)

    @property
    def returns(self) -> Floats:
        """The return of each trade, as a fraction of its entry's value."""
        return trade_returns(self.records)

    def to_wire(self, symbols: Sequence[str]) -> list[ClosedTrade]:
        """Return the trades as clients see them; `symbols` are in the order of the simulation."""
        return trade_dicts(self.records, symbols, self.excursions, self.fills)

    def select(self, rows: slice | NDArray[np.intp]) -> Trades:
        """Return the trades of these rows."""
        excursions = None if self.excursions is None else self.excursions.of(rows)
        fills = None if self.fills is None else self.fills.of(rows)
        return Trades(self.records[rows], excursions, fills)


def _joined_columns(parts: Sequence[Floats | None], count: int) -> Floats | None:
    """Return f8[count, trades] of all parts, or None if a part has none."""
    columns = [part for part in parts if part is not None]
    if len(columns) < len(parts):
        return None
    return np.concatenate([np.empty((count, 0)), *columns], axis=1)
