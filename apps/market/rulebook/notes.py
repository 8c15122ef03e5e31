"""Virtual contract notes: the cost of a fill."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from apps.engine.candles import Symbol
from apps.market.rulebook.charges import ChargeBasis, FillCharges, charge_basis_of, charges_of
from apps.market.rulebook.expiries import expiry_of
from apps.market.rulebook.files.rows import OrderSide, Product
from apps.market.rulebook.files.rule_set import RuleSet
from apps.market.rulebook.sessions import sessions_of
from apps.symbols.services import expiries_of, indices_among, terms_on


@dataclass(frozen=True, slots=True)
class ContractNote:
    """The cost of one fill.

    `value` is quantity x price x multiplier in rupees, the premium of an option; `rule_set` is the
    SHA-256 of the rules.
    """

    symbol: str
    day: date
    side: OrderSide
    quantity: int
    price: Decimal
    multiplier: Decimal
    basis: ChargeBasis
    charges: FillCharges
    rule_set: str

    @property
    def value(self) -> Decimal:
        return self.quantity * self.price * self.multiplier


def make_contract_note(
    rule_set: RuleSet,
    *,
    symbol: str,
    side: OrderSide,
    quantity: int,
    price: Decimal,
    day: date,
    product: Product,
    broker: str | None,
) -> ContractNote:
    """Return the note of one fill of `quantity` units at `price` rupees; a sale in delivery counts
    as a sale of shares bought on an earlier day.

    A unit of a symbol without a master gains a rupee per rupee of price.
    """
    terms = terms_on(symbol=symbol, first=day, last=day)
    multiplier = terms[0].unit_value if terms else Decimal(1)
    basis = charge_basis_of(
        rule_set,
        symbol,
        product=product,
        broker=broker,
        is_index=symbol in indices_among([symbol]),
        expiry=_last_day(rule_set, symbol),
    )
    value = quantity * price * multiplier
    charges = charges_of(rule_set, basis, side=side, value=value, day=day)
    return ContractNote(
        symbol, day, side, quantity, price, multiplier, basis, charges, rule_set.sha256
    )


def _last_day(rule_set: RuleSet, symbol: str) -> date | None:
    """Return the date of a contract's last session, by the master or else by its name."""
    listed, calendar = expiries_of([symbol]).get(symbol), sessions_of(symbol, rule_set=rule_set)
    return expiry_of(Symbol.parse(symbol), calendar, listed=listed)
