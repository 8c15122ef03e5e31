"""Lots and ticks by day."""

from datetime import date
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction

from apps.symbols.models import Instrument
from apps.symbols.services import terms_on
from tests.symbols.instruments import equity

pytestmark = pytest.mark.django_db

YEAR = {"first": date(2024, 1, 1), "last": date(2024, 12, 31)}


def lots(instrument: Instrument, **by_day: int) -> None:
    for day, lot in by_day.items():
        valid_from = date.fromisoformat(day.removeprefix("_").replace("_", "-"))
        instrument.terms.create(valid_from=valid_from, lot_size=lot, source="test")


def dated_lots(**days: date) -> list[tuple[str, int]]:
    rows = terms_on(symbol="NSE:NIFTY", **(YEAR | days))
    return [(str(row.valid_from), row.lot_size) for row in rows]


def test_terms_hold_on_days_of_the_range() -> None:
    dates = {"_2021_01_01": 75, "_2023_05_01": 50, "_2024_04_26": 25, "_2025_01_01": 75}
    lots(equity("NSE:NIFTY"), **dates)
    assert dated_lots() == [("2024-01-01", 50), ("2024-04-26", 25)]
    assert dated_lots(last=date(2025, 1, 1))[-1] == ("2025-01-01", 75)


def test_the_oldest_known_hold_for_the_time_before() -> None:
    lots(equity("NSE:NIFTY"), _2026_01_01=65)
    assert dated_lots() == [("2024-01-01", 65)]


def test_without_dated_terms_the_instruments_own_terms_hold() -> None:
    equity("NSE:NIFTY", lot_size=40, tick_size=Decimal("0.05"))
    assert dated_lots() == [("2024-01-01", 40)]


def test_an_unknown_symbol_has_no_terms() -> None:
    assert dated_lots() == []


def test_a_unit_is_worth_its_part_of_the_lot() -> None:
    equity("MCX:GOLD", lot_size=1, multiplier=Decimal(100))
    (gold,) = terms_on(symbol="MCX:GOLD", **YEAR)
    equity("NSE:NIFTY", lot_size=65, multiplier=Decimal(65))
    (nifty,) = terms_on(symbol="NSE:NIFTY", **YEAR)
    assert (gold.unit_value, nifty.unit_value) == (Decimal(100), Decimal(1))


def test_a_day_has_one_set_of_terms() -> None:
    instrument = equity("NSE:NIFTY")
    lots(instrument, _2026_01_01=65)
    with pytest.raises(IntegrityError), transaction.atomic():
        lots(instrument, _2026_01_01=75)
