"""Complete real masters: their results, row by row, and the time of the largest."""

import resource
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from apps.symbols.importers import master_import
from apps.symbols.importers.master import Rejections, read_master
from apps.symbols.importers.naming import last_expiries, name_all
from apps.symbols.models import Instrument

NOW = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)
LARGEST = "upstox_all_2026-02.csv.gz"

# As counted by hand and by other programs: rows, of them carried.
MASTERS = {
    "alice_bse_2023.csv.gz": (4_825, 4_695),
    "alice_mcx_2026-04.csv.gz": (27_258, 27_258),
    "alice_nfo_2024-05.csv.gz": (34_053, 33_026),
    "angel_nfo_2025-04.csv.gz": (4_692, 4_684),
    "bse_scrips_2026-03.csv.gz": (4_825, 4_817),
    "dhan_compact_eq_2026-07.csv.gz": (23_116, 9_264),
    "fivepaisa_fo_2025-06.csv": (1_072, 1_072),
    "fyers_bse_fo_2025-11.csv.gz": (6_708, 6_570),
    "fyers_nse_cm_2025-11.csv.gz": (8_730, 3_133),
    "kite_nfo_bfo_2026-08.csv.gz": (39_941, 39_053),
    "kite_nfo_nse_bse_2024-04.csv.gz": (31_373, 30_392),
    "nse_equity_l_2026-01.csv": (2_229, 2_228),
    "shoonya_mcx_2024-09.csv.gz": (6_260, 6_164),
    "shoonya_ncx_2026-07.csv": (8, 8),
    "shoonya_nse_2024-09.csv.gz": (7_006, 2_624),
    "upstox_all_2025-08.json.gz": (95_846, 68_019),
    LARGEST: (204_218, 173_454),
}


def seed(path: Path) -> tuple[master_import.MasterImport, float]:
    begun = time.perf_counter()
    master = read_master(path, today=NOW.date())
    brought = master_import.import_master(master=master, now=NOW, force=True)
    return brought, time.perf_counter() - begun


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.django_db
def test_every_master_is_imported_and_its_counts_add_up(market_data: Path) -> None:
    for name, (rows, carried) in MASTERS.items():
        brought, seconds = seed(market_data / name)
        refused = sum(brought.master.rejections.counts.values())
        print(f"{name}: {rows:,} rows, {brought.named:,} carried, {seconds:.1f} s")
        assert (brought.master.read, brought.named) == (rows, carried), name
        assert brought.master.read == brought.named + refused
        assert brought.unchanged >= 0
    for symbol in ("NSE:MM", "NSE:BAJAJAUTO", "BSE:AREM", "NCDEX:GUARSEED1026AUGFUT", "NSE:NIFTY"):
        assert Instrument.objects.filter(symbol=symbol, sample=False).exists(), symbol


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "kite_nfo_bfo_2026-08.csv.gz",
        "kite_nfo_nse_bse_2024-04.csv.gz",
        "fyers_bse_fo_2025-11.csv.gz",
    ],
)
def test_weekly_options_are_recognised_by_their_dates(market_data: Path, name: str) -> None:
    master = read_master(market_data / name, today=NOW.date())
    unmarked = [row._replace(weekly=None) for row in master.rows]
    last = last_expiries(master.rows)
    marked_so = [instrument.symbol for instrument in name_all(master.rows, last, Rejections())]
    assert [instrument.symbol for instrument in name_all(unmarked, last, Rejections())] == marked_so
    assert len(marked_so) > 6_000


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.django_db
def test_the_largest_master_twice(market_data: Path) -> None:
    for again in (False, True):
        brought, seconds = seed(market_data / LARGEST)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"\n{LARGEST}: {seconds:.1f} s, again {again}, peak memory of the tests {peak} MB")
        assert brought.counts.added == (0 if again else 173_454)
        assert brought.counts.changed == 0
