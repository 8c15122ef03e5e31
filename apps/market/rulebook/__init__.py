"""The market's dated rules: data files with a source on every row, and lookups in them.

Other apps import only these names.
"""

from apps.market.rulebook.calendars import (
    calendar_of,
    calendars_of,
)
from apps.market.rulebook.charges import (
    DEFAULT_BROKER,
    broker_names,
)
from apps.market.rulebook.contracts import (
    MarketRules,
    bundled_market_rules,
    contract_closes,
    expiry_dates,
    expiry_days,
    lot_of,
)
from apps.market.rulebook.expiries import (
    expiry_of,
)
from apps.market.rulebook.files.rows import (
    ChargeSegment,
)
from apps.market.rulebook.files.rule_set import (
    RuleSet,
)
from apps.market.rulebook.rule_sets import (
    current_rule_set,
    describe_day,
    describe_rates,
)
from apps.market.rulebook.sessions import (
    MARKETS,
    bundled_sessions,
    is_open,
    sessions_of,
)
from apps.market.rulebook.settlements import (
    underlying_of,
)
from apps.market.rulebook.tradable import (
    CONTRACT_EXPIRED,
    SymbolNotTradable,
    expired_among,
    require_tradable,
    untradable_symbols,
)

__all__ = [
    "CONTRACT_EXPIRED",
    "DEFAULT_BROKER",
    "MARKETS",
    "ChargeSegment",
    "MarketRules",
    "RuleSet",
    "SymbolNotTradable",
    "broker_names",
    "bundled_market_rules",
    "bundled_sessions",
    "calendar_of",
    "calendars_of",
    "contract_closes",
    "current_rule_set",
    "describe_day",
    "describe_rates",
    "expired_among",
    "expiry_dates",
    "expiry_days",
    "expiry_of",
    "is_open",
    "lot_of",
    "require_tradable",
    "sessions_of",
    "underlying_of",
    "untradable_symbols",
]
