"""`manage.py seed_symbols FILE…`: changes by a master, and their limits."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.symbols import services
from apps.symbols.models import Instrument, InstrumentAlias, InstrumentTerms, MasterLoad
from tests.symbols import master_files

pytestmark = pytest.mark.django_db

Seed = Callable[..., str]
HEADER = master_files.KITE.splitlines()[0]


@pytest.fixture
def seed(tmp_path: Path) -> Seed:
    def run(text: str, *options: str) -> str:
        path, out = tmp_path / "list.csv", StringIO()
        path.write_text(text)
        call_command("seed_symbols", str(path), *options, stdout=out)
        return out.getvalue()

    return run


def shares(*names: str, lot: int = 1, tick: str = "0.05") -> str:
    rows = [
        f"{at},1,{name},{name} LIMITED,0,,0,{tick},{lot},EQ,NSE,NSE"
        for at, name in enumerate(names)
    ]
    return "\n".join([HEADER, *rows])


def future(day: date, lot: int = 65) -> str:
    name = f"NIFTY{day:%y%b}FUT".upper()
    return f"{HEADER}\n9,9,{name},NIFTY,0,{day},0,0.1,{lot},FUT,NFO-FUT,NFO"


def test_the_summary_counts_every_row_once(seed: Seed) -> None:
    assert seed(master_files.KITE).splitlines() == [
        "list.csv: Kite (Zerodha), as of 2026-08-18 (its first expiry)",
        "         12  rows read",
        "          9  added",
        "          0  changed",
        "          0  unchanged",
        "          1  neither share, fund nor trust unit (debt, warrants, rights, plans)",
        "          1  strike with decimals, which a symbol cannot write",
        "      line 10: ASHOKLEY26AUG172.5PE, strike 172.5",
        "          1  of a market that is not carried",
        "  new dated terms: 9",
    ]
    before = list(Instrument.objects.order_by("pk").values())
    again = seed(master_files.KITE)
    assert "          0  added\n          0  changed\n          9  unchanged" in again
    assert "new dated terms: 0" in again
    assert list(Instrument.objects.order_by("pk").values()) == before


def test_a_row_has_its_facts_its_alias_and_its_terms(seed: Seed) -> None:
    seed(master_files.KITE)
    row = Instrument.objects.get(symbol="NSE:NIFTY26AUG1824350CE")
    assert (row.name, row.exchange_name) == ("NIFTY 18 Aug 2026 24350 CE", "NIFTY26AUG1824350CE")
    assert (row.underlying, row.expiry, row.strike) == ("NIFTY", date(2026, 8, 18), Decimal(24350))
    assert (row.lot_size, row.multiplier, row.tick_size) == (65, Decimal(65), Decimal("0.05"))
    assert list(row.aliases.values_list("source", "name", "token")) == [
        ("kite", "NIFTY2681824350CE", "58072")
    ]
    (terms,) = row.terms.all()
    assert (terms.valid_from, terms.lot_size, terms.source) == (date(2026, 8, 18), 65, "kite")


def test_a_dry_run_counts_and_changes_nothing(seed: Seed) -> None:
    assert "9  added" in seed(master_files.KITE, "--dry-run")
    for model in (Instrument, InstrumentAlias, InstrumentTerms, MasterLoad):
        assert not model.objects.exists()


def test_a_changed_lot_is_dated_and_the_old_one_kept(seed: Seed) -> None:
    day = date(2026, 12, 29)
    seed(future(day, lot=75), "--as-of", "2026-01-02")
    seed(future(day, lot=65), "--as-of", "2026-10-01")
    seed(future(day, lot=50), "--as-of", "2025-06-02")
    terms = services.terms_on(
        symbol="NSE:NIFTY26DECFUT", first=date(2025, 7, 1), last=date(2026, 11, 1)
    )
    assert [(str(row.valid_from), row.lot_size) for row in terms] == [
        ("2025-07-01", 50),
        ("2026-01-02", 75),
        ("2026-10-01", 65),
    ]
    assert Instrument.objects.get().lot_size == 65


def test_sources_complete_each_other(seed: Seed) -> None:
    seed(master_files.NSE, "--as-of", "2026-01-02")
    seed(master_files.KITE, "--as-of", "2026-01-02")
    row = Instrument.objects.get(symbol="NSE:MM")
    assert (row.name, row.isin, row.tick_size) == (
        "Mahindra & Mahindra Limited",
        "INE101A01026",
        Decimal("0.1"),
    )
    assert set(row.aliases.values_list("source", "name")) == {("nse", "M&M"), ("kite", "M&M")}


def test_an_instrument_missing_from_the_master_is_delisted_until_it_is_listed_again(
    seed: Seed,
) -> None:
    seed(shares("TCS", "INFY"), "--as-of", "2026-01-02")
    output = seed(shares("TCS"), "--as-of", "2026-01-05")
    assert "NSE cash: 1 not listed by Kite (Zerodha) any more" in output
    gone = Instrument.objects.get(symbol="NSE:INFY")
    assert (gone.valid_to, gone.aliases.count()) == (date(2026, 1, 4), 0)
    seed(shares("TCS", "INFY"), "--as-of", "2026-01-06")
    gone.refresh_from_db()
    assert gone.valid_to is None


def test_symbols_only_in_an_older_master_cannot_be_traded(seed: Seed) -> None:
    seed(shares("TCS"), "--as-of", "2026-01-05")
    assert "not listed" not in seed(shares("TCS", "GONE", tick="1"), "--as-of", "2025-01-02")
    verdict = services.check(symbol="NSE:GONE", now=timezone.now())
    assert verdict.reason == "It was delisted on 2025-01-02."
    assert Instrument.objects.get(symbol="NSE:TCS").tick_size == Decimal("0.05")


def test_an_expired_contract_stays_and_cannot_be_traded(seed: Seed) -> None:
    seed(future(date(2026, 1, 27)), "--as-of", "2026-01-02")
    assert "not listed" not in seed(future(date(2026, 12, 29)), "--as-of", "2026-02-02")
    row = Instrument.objects.get(symbol="NSE:NIFTY26JANFUT")
    assert row.aliases.count() == 1
    verdict = services.check(symbol=row.symbol, now=timezone.now())
    assert verdict.reason == "The contract expired on 2026-01-27."


def test_a_master_keeps_instruments_switched_off_by_an_operator(seed: Seed) -> None:
    seed(shares("TCS"))
    Instrument.objects.update(enabled=False)
    seed(shares("TCS", tick="0.1"))
    assert Instrument.objects.values_list("enabled", "tick_size").get() == (False, Decimal("0.1"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (shares(*(f"X{at}" for at in range(12))), "13 of 25 instruments of NSE cash are gone"),
        (shares(*(f"X{at}" for at in range(25)), tick="5"), "of 25 of 25 is another"),
        (shares(*(f"X{at}" for at in range(25))) + "\n1,2" * 4, "4 of its 29 rows cannot be read"),
    ],
)
def test_a_master_that_looks_damaged_needs_force(seed: Seed, text: str, message: str) -> None:
    seed(shares(*(f"X{at}" for at in range(25))), "--as-of", "2026-01-02")
    before = list(Instrument.objects.order_by("pk").values())
    with pytest.raises(CommandError, match=message):
        seed(text)
    assert list(Instrument.objects.order_by("pk").values()) == before
    seed(text, "--force")


def test_either_all_files_are_loaded_or_none(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(shares("TCS"))
    bad.write_text("a,b\n")
    with pytest.raises(CommandError, match=r"bad.csv: it is no master.*\nNothing was changed."):
        call_command("seed_symbols", str(good), str(bad), stdout=StringIO())
    assert not Instrument.objects.exists()


@pytest.mark.parametrize(
    "options", [("--as-of", "2199-01-01"), ("--as-of", "soon"), ("--format", "x")]
)
def test_an_option_outside_its_set_is_refused(seed: Seed, options: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        seed(master_files.KITE, *options)
