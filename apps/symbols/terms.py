"""The terms of an instrument (lot, tick, multiplier, freeze quantity) by date."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class DatedTerms:
    """The terms of an instrument from a day until the day of the next terms.

    `lot_size` is the units of one lot, `multiplier` the rupees that a lot gains per rupee of price,
    `tick_size` is in rupees, `freeze_quantity` is the maximum units of one order; None is unknown.
    """

    valid_from: date
    lot_size: int
    tick_size: Decimal | None
    multiplier: Decimal | None
    freeze_quantity: int | None
    source: str

    @property
    def unit_value(self) -> Decimal:
        """The rupees that one unit gains per rupee of price: 1 unless the price is per another
        unit. GOLD is quoted per ten grams and its lot is one kilogram, so a unit gains 100.
        """
        return Decimal(1) if self.multiplier is None else self.multiplier / self.lot_size


def within(known: Sequence[DatedTerms], *, first: date, last: date) -> tuple[DatedTerms, ...]:
    """Return the members of `known`, oldest first, in force on a day of `first` to `last`.

    The first one returned is dated `first`: it was in force then, or nothing older is known.
    """
    started = [terms for terms in known if terms.valid_from <= first][-1:]
    later = [terms for terms in known if first < terms.valid_from <= last]
    terms = (started + later) or list(known[:1])
    return (replace(terms[0], valid_from=first), *terms[1:]) if terms else ()
