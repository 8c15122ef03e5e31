"""The bundled sample, and the command that loads it."""

import csv
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from apps.engine.candles.symbols import Symbol
from apps.symbols import services
from apps.symbols.importers import bundled_sample
from apps.symbols.models import Instrument, Type
from tests.symbols.instruments import equity

pytestmark = pytest.mark.django_db


def seed() -> str:
    out = StringIO()
    call_command("seed_symbols", stdout=out)
    return out.getvalue().strip()


def test_a_second_run_changes_nothing() -> None:
    assert seed() == "symbols: 70 added, 0 changed, 0 unchanged (bundled sample)"
    before = list(Instrument.objects.order_by("pk").values())
    assert seed() == "symbols: 0 added, 0 changed, 70 unchanged (bundled sample)"
    assert list(Instrument.objects.order_by("pk").values()) == before


def test_a_changed_fact_is_brought_up_to_date_and_a_switch_is_kept() -> None:
    services.seed_sample()
    Instrument.objects.filter(symbol="NSE:TCS").update(name="Old", enabled=False)
    assert services.seed_sample().changed == 1
    row = Instrument.objects.get(symbol="NSE:TCS")
    assert (row.name, row.enabled) == ("Tata Consultancy Services Limited", False)


def test_symbols_described_by_a_master_stay_unchanged() -> None:
    equity("NSE:TCS", name="From the master", sample=False)
    services.seed_sample()
    assert Instrument.objects.get(symbol="NSE:TCS").name == "From the master"


def test_every_row_is_well_formed_and_says_where_it_comes_from() -> None:
    rows = bundled_sample.sample_instruments()
    assert len({row.symbol for row in rows}) == len(rows)
    for row in rows:
        assert Symbol.parse(row.symbol).type == "equity"
        assert row.source
        row.full_clean(validate_unique=False, validate_constraints=False)


def test_the_shares_agree_with_the_exchange_s_list(market_data: Path) -> None:
    with (market_data / "nse_equity_l_2026-01.csv").open(newline="") as lines:
        listed = {row["SYMBOL"]: row for row in csv.DictReader(lines, skipinitialspace=True)}
    shares = [row for row in bundled_sample.sample_instruments() if row.type == Type.EQUITY]
    assert len(shares) == 63
    for row in shares:
        assert row.isin == listed[row.exchange_name]["ISIN NUMBER"]
        assert row.name.lower() == listed[row.exchange_name]["NAME OF COMPANY"].lower()
        assert str(row.lot_size) == listed[row.exchange_name]["MARKET LOT"]
