"""A ledger that books fills without knowing the market, as a paper account would."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.engine.kernel import codes as c
from tests.engine.random_cases import Case


@dataclass
class Held:
    entry_time: int
    side: int
    quantity: float = 0.0
    average: float = 0.0
    locked: float = 0.0
    charges: float = 0.0
    parts: list[tuple[float, float, float]] = field(default_factory=list)  # quantity, price, gross


class Ledger:
    def __init__(self, case: Case) -> None:
        self.contracts, self.cash, self.paid = case.contracts, case.cash, np.zeros(8)
        self.market = case.market
        self.held: dict[int, Held] = {}
        self.trades: list[list[float]] = []
        """As TRADE records, without the bars, of which fills know nothing."""

    def post(self, fill: Any) -> None:  # Any: a FILL record
        assert fill["charges"] == fill["paid"].sum() / 100
        self.paid += fill["paid"]
        if fill["reason"] == c.OPEN:
            self._enter(fill)
        elif fill["reason"] == c.BY_STEP:
            self._reduce(fill)
        else:
            self._leave(fill)

    def worth(self, closes: NDArray[np.float64]) -> float:
        """Return the cash plus the value of all positions at these prices by symbol."""
        equity = self.cash
        for symbol, held in self.held.items():
            exposure = held.side * held.quantity * self.contracts[symbol]["multiplier"]
            equity += held.locked + exposure * (closes[symbol] - held.average)
        return equity

    def _enter(self, fill: Any) -> None:
        contract = self.contracts[fill["symbol"]]
        locked = fill["quantity"] * fill["price"] * contract["multiplier"] * contract["margin"]
        if fill["side"] < 0 and len(self.market.short_margins):
            row = np.searchsorted(self.market.time, fill["time"])
            margin = self.market.short_margins[self.market.cell[row, fill["symbol"]]]
            locked += fill["quantity"] * contract["multiplier"] * margin
        self.cash -= locked + fill["charges"]
        new = Held(int(fill["time"]), int(fill["side"]))
        held = self.held.setdefault(int(fill["symbol"]), new)
        bought, before = fill["quantity"], held.quantity
        held.average = (
            (held.average * before + fill["price"] * bought) / (before + bought)
            if before
            else fill["price"]
        )
        held.quantity += bought
        held.locked += locked
        held.charges += fill["charges"]

    def _reduce(self, fill: Any) -> None:
        held, quantity = self.held[int(fill["symbol"])], fill["quantity"]
        multiplier = self.contracts[fill["symbol"]]["multiplier"]
        gross = held.side * quantity * multiplier * (fill["price"] - held.average)
        freed = held.locked * (quantity / held.quantity)
        self.cash += freed + gross - fill["charges"]
        assert fill["side"] == -held.side
        assert 0 < quantity < held.quantity
        held.quantity -= quantity
        held.locked -= freed
        held.charges += fill["charges"]
        held.parts.append((quantity, fill["price"], gross))

    def _leave(self, fill: Any) -> None:
        held = self.held.pop(int(fill["symbol"]))
        multiplier = self.contracts[fill["symbol"]]["multiplier"]
        gross = held.side * held.quantity * multiplier * (fill["price"] - held.average)
        self.cash += held.locked + gross - fill["charges"]
        whole, price = held.quantity, fill["price"]
        if held.parts:
            sold, value, parts_gross = 0.0, 0.0, 0.0
            for quantity, at, of_part in held.parts:
                sold, value = sold + quantity, value + quantity * at
                parts_gross += of_part
            whole, gross = sold + whole, parts_gross + gross
            price = (value + held.quantity * fill["price"]) / whole
        assert (fill["side"], fill["quantity"]) == (-held.side, held.quantity)
        self.trades.append(
            [
                held.entry_time,
                fill["time"],
                fill["symbol"],
                held.side,
                fill["reason"],
                whole,
                held.average,
                price,
                held.average * whole * multiplier,
                gross,
                held.charges + fill["charges"],
            ]
        )
