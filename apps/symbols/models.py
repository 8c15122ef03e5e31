"""Instruments: everything with an `EXCHANGE:SYMBOL`."""

from datetime import date
from typing import Final

from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Concat, Upper

from apps.engine.candles import Symbol


class Type(models.TextChoices):
    EQUITY = "equity"
    INDEX = "index"
    FUTURES = "futures"
    OPTIONS = "options"
    COMMODITY = "commodity"


class Segment(models.TextChoices):
    CASH = "cash"
    DERIVATIVES = "derivatives"
    COMMODITY = "commodity"
    CURRENCY = "currency"


class OptionType(models.TextChoices):
    CALL = "CE"
    PUT = "PE"


class Source(models.TextChoices):
    """A broker or exchange that publishes masters, with its own names of instruments."""

    KITE = "kite", "Kite (Zerodha)"
    UPSTOX = "upstox", "Upstox"
    ANGEL = "angel", "Angel One"
    DHAN = "dhan", "Dhan"
    FYERS = "fyers", "Fyers"
    ALICE = "alice", "Alice Blue"
    SHOONYA = "shoonya", "Shoonya"
    FIVEPAISA = "5paisa", "5paisa"
    NSE = "nse", "NSE"
    BSE = "bse", "BSE"


LONGEST_ALIAS: Final = 64
LONGEST_NAME: Final = 200

CASH: Final = Q(type__in=[Type.EQUITY, Type.INDEX])
DERIVATIVE: Final = ~CASH

_LOT: Final = "Units of one lot, as the exchange counts them: 65 of NIFTY, 1 (kilogram) of GOLD"
_MULTIPLIER: Final = "Rupees one lot gains per rupee of price: 65 of NIFTY, 100 of GOLD"
_FREEZE: Final = "More units than this in one order are refused by the exchange; empty if unknown"


class Instrument(models.Model):
    """An instrument of a master or of the bundled sample; it may not be tradable.

    The collation C of searched columns lets one index serve both `LIKE 'REL%'` and the order.
    """

    symbol = models.CharField(
        max_length=Symbol.MAX_LENGTH, db_collation="C", help_text="EXCHANGE:SYMBOL"
    )
    exchange = models.CharField(max_length=5, choices=[(name, name) for name in Symbol.EXCHANGES])
    segment = models.CharField(max_length=11, choices=Segment.choices)
    code = models.CharField(
        max_length=Symbol.MAX_LENGTH, db_collation="C", help_text="The part after the colon"
    )
    exchange_name = models.CharField(
        max_length=LONGEST_ALIAS,
        db_collation="C",
        help_text="The exchange's own spelling, such as M&M where the code is MM",
    )
    name = models.CharField(max_length=LONGEST_NAME, db_collation="C")
    type = models.CharField(max_length=9, choices=Type.choices)
    underlying = models.CharField(
        max_length=Symbol.MAX_LENGTH, blank=True, help_text="Code of the underlying of a derivative"
    )
    expiry = models.DateField(null=True, blank=True)
    strike = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    option_type = models.CharField(max_length=2, choices=OptionType.choices, blank=True)
    lot_size = models.PositiveIntegerField(help_text=_LOT)
    tick_size = models.DecimalField(
        max_digits=10, decimal_places=4, null=True, blank=True, help_text="Rupees; empty if unknown"
    )
    multiplier = models.DecimalField(
        max_digits=12, decimal_places=4, null=True, blank=True, help_text=_MULTIPLIER
    )
    freeze_quantity = models.PositiveBigIntegerField(null=True, blank=True, help_text=_FREEZE)
    isin = models.CharField(max_length=12, blank=True)
    enabled = models.BooleanField(
        default=True, help_text="Whether it can be traded; operators switch it off"
    )
    sample = models.BooleanField(
        default=False, help_text="Whether it is from the bundled sample, not from a master"
    )
    valid_from = models.DateField(null=True, blank=True)
    valid_to = models.DateField(null=True, blank=True)
    source = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["symbol"], name="one_instrument_per_symbol"),
            models.CheckConstraint(
                condition=Q(symbol=Concat("exchange", Value(":"), "code")),
                name="symbol_is_exchange_and_code",
            ),
            models.CheckConstraint(
                condition=Q(type=Type.OPTIONS, strike__isnull=False, option_type__in=["CE", "PE"])
                | ~Q(type=Type.OPTIONS) & Q(strike__isnull=True, option_type=""),
                name="options_alone_have_a_strike",
            ),
            models.CheckConstraint(
                condition=Q(type__in=[Type.FUTURES, Type.OPTIONS], expiry__isnull=False)
                | Q(type__in=[Type.EQUITY, Type.INDEX, Type.COMMODITY], expiry__isnull=True),
                name="contracts_alone_expire",
            ),
        ]
        indexes = [
            models.Index(fields=["code", "exchange"], name="cash_by_code", condition=CASH),
            models.Index(Upper("name"), name="cash_by_name", condition=CASH),
            models.Index(Upper("exchange_name"), name="cash_by_exchange_name", condition=CASH),
            models.Index(fields=["isin"], name="cash_by_isin", condition=CASH),
            models.Index(
                fields=["code", "exchange"], name="derivatives_by_code", condition=DERIVATIVE
            ),
            models.Index(
                fields=["underlying", "expiry", "code"],
                name="contracts_by_underlying",
                condition=DERIVATIVE,
            ),
            models.Index(
                fields=["exchange", "type"],
                name="masters_by_exchange_and_type",
                condition=Q(sample=False),
            ),
        ]

    def __str__(self) -> str:
        return self.symbol

    def untradable_reason(self, day: date) -> str | None:
        """Return the reason why the instrument cannot be traded on `day`; None if it can."""
        if not self.enabled:
            return "It has been switched off here."
        if self.expiry is not None and self.expiry < day:
            return f"The contract expired on {self.expiry}."
        if self.valid_to is not None and self.valid_to < day:
            return f"It was delisted on {self.valid_to}."
        if self.valid_from is not None and day < self.valid_from:
            return f"It is listed from {self.valid_from} on."
        return None


class InstrumentTerms(models.Model):
    """The lot and tick of an instrument from a day until the next row's day.

    The newest row equals the instrument's own fields; older rows are for the past.
    """

    instrument = models.ForeignKey(
        Instrument, on_delete=models.CASCADE, related_name="terms", db_index=False
    )
    valid_from = models.DateField(help_text="Day of the first master with these terms")
    lot_size = models.PositiveIntegerField(help_text=_LOT)
    tick_size = models.DecimalField(max_digits=10, decimal_places=4, null=True, blank=True)
    multiplier = models.DecimalField(
        max_digits=12, decimal_places=4, null=True, blank=True, help_text=_MULTIPLIER
    )
    freeze_quantity = models.PositiveBigIntegerField(null=True, blank=True, help_text=_FREEZE)
    source = models.CharField(max_length=200)

    class Meta:
        verbose_name_plural = "instrument terms"
        constraints = [
            models.UniqueConstraint(
                fields=["instrument", "valid_from"], name="one_set_of_terms_per_day"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.instrument} from {self.valid_from}"


class InstrumentAlias(models.Model):
    """A broker's or an exchange's name for an instrument."""

    instrument = models.ForeignKey(
        Instrument, on_delete=models.CASCADE, related_name="aliases", db_index=False
    )
    source = models.CharField(max_length=7, choices=Source.choices)
    name = models.CharField(
        max_length=LONGEST_ALIAS,
        db_collation="C",
        help_text="Name of the instrument in that source",
    )
    token = models.CharField(
        max_length=LONGEST_ALIAS,
        blank=True,
        help_text="Identifier of the instrument in the source's API",
    )

    class Meta:
        verbose_name_plural = "instrument aliases"
        constraints = [
            models.UniqueConstraint(fields=["instrument", "source"], name="one_alias_per_source"),
        ]
        indexes = [models.Index(fields=["name"], name="aliases_by_name")]

    def __str__(self) -> str:
        return f"{self.name} ({self.source})"


class MasterLoad(models.Model):
    """An imported master. The newest date of an exchange's segment decides the facts."""

    source = models.CharField(max_length=7, choices=Source.choices)
    exchange = models.CharField(max_length=5, choices=[(name, name) for name in Symbol.EXCHANGES])
    segment = models.CharField(max_length=11, choices=Segment.choices)
    as_of = models.DateField(help_text="Day that the master describes")
    instruments = models.PositiveIntegerField()
    file = models.CharField(max_length=200)
    loaded_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["exchange", "segment", "source", "as_of"], name="one_load_per_day"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.exchange} {self.segment} of {self.as_of}"
