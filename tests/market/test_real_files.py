"""Real market files, read unchanged."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.db.models import Sum

from apps.market.importers import (
    BadCandleFile,
    CandleImport,
    ImportOptions,
    StampSide,
    read_candle_files,
)
from apps.market.models import CandleChunk
from tests.market.bars import at
from tests.market.candle_files import ImportedSeries, dates

BSE_RELIANCE = {"symbol": "BSE:RELIANCE"}
DECIMAL = "strike with decimals, which symbols have no form for"
NO_SHARES = "series that are no shares"

# The options for each file, its instruments, its timeframe, and the results of its rows.
CANDLES: dict[str, tuple[dict[str, Any], int, str, str]] = {
    "BAJFINANCE_1m_2024-25.parquet": ({}, 1, "1m", "3001 bars"),
    "BANKNIFTY_15m_2018-23.csv.gz": ({}, 1, "15m", "34300 bars"),
    "BANKNIFTY_1m_2021-12_odd.txt.gz": ({}, 1, "1m", "8694 bars"),
    "BHEL_5m_2025-26.parquet": ({}, 1, "5m", "18987 bars"),
    "INFY_1m_2024-25.parquet": ({}, 1, "1m", "91844 bars + 6 repeated"),
    "MandM_5m_2025-26.parquet": ({"symbol": "NSE:MM"}, 1, "5m", "1800 bars"),
    "NIFTY_1m_2009.csv.gz": ({}, 1, "1m", "76897 bars"),
    "NIFTY_1m_2024.csv.gz": ({}, 1, "1m", "58127 bars"),
    "bse_500325_RELIANCE_2013-19.csv.gz": (BSE_RELIANCE, 1, "1d", "1510 bars"),
    "bse_SENSEX_2012-19.csv.gz": ({"symbol": "BSE:SENSEX"}, 1, "1d", "1790 bars"),
    "bse_eq_bhav_2021-05-06.csv.gz": ({}, 3140, "1d", f"3140 bars + 239 left out ({NO_SHARES})"),
    "lean_india_min_2019.csv.gz": ({}, 3, "1m", "3422 bars + 1509 repeated"),
    "mcx_CRUDEOIL_opt_1m_2025-06.csv.gz": (
        {},
        4,
        "1m",
        "34551 bars + 1458 left out (rows without a symbol)"
        " + 7 left out (volume is no volume of 0 or more)",
    ),
    "mcx_GOLDM_investing_2015-21.txt.gz": ({"symbol": "MCX:GOLDM"}, 1, "1d", "1576 bars"),
    "nse_cm_bhav_2020-01-01.csv.gz": ({}, 1731, "1d", f"1731 bars + 179 left out ({NO_SHARES})"),
    "nse_cm_udiff_2025-08-29.csv.gz": ({}, 2840, "1d", f"2840 bars + 270 left out ({NO_SHARES})"),
    "nse_fo_bhav_2020-01-01.csv.gz": (
        {},
        3785,
        "1d",
        f"3785 bars + 27841 without a trade + 183 left out ({DECIMAL})",
    ),
    "nse_fo_udiff_2025-02-25.csv.gz": (
        {},
        19468,
        "1d",
        f"19468 bars + 20668 without a trade + 573 left out ({DECIMAL})",
    ),
    "nse_full_BAJAJ-AUTO_2019-26.csv.gz": ({}, 1, "1d", "1710 bars"),
    "nse_full_HDFCBANK_2019-26.csv.gz": ({}, 1, "1d", "1710 bars"),
    "nse_full_MandM_2019-26.csv.gz": ({}, 1, "1d", "1710 bars"),
    "nse_full_RELIANCE_2019-26.csv.gz": ({}, 1, "1d", "1710 bars"),
    "nse_full_TATASTEEL_2019-26.csv.gz": ({}, 1, "1d", "1710 bars"),
    "nse_full_YESBANK_2019-26.csv.gz": ({}, 1, "1d", "1710 bars"),
    "nse_fullbhav_2025-09.csv.gz": ({}, 2302, "1d", "48494 bars"),
    "nse_fullbhav_special_days.csv.gz": ({}, 3055, "1d", "21183 bars"),
    "nse_raw_BEL_2008-26.csv.gz": ({}, 1, "1d", "4533 bars"),
    "nse_raw_MARUTI_2008-26.csv.gz": ({}, 1, "1d", "4533 bars"),
    "nse_raw_SBIN_2008-26.csv.gz": ({}, 1, "1d", "4533 bars"),
    "nse_raw_SUZLON_2008-26.csv.gz": ({}, 1, "1d", "4315 bars"),
    "nse_raw_TRENT_2008-26.csv.gz": ({}, 1, "1d", "4532 bars"),
    "oracle_backtrader_2006_day.csv": ({"symbol": "NSE:X"}, 1, "1d", "255 bars"),
    "oracle_goog_daily.csv.gz": ({"symbol": "NSE:GOOG"}, 1, "1d", "2148 bars"),
    "oracle_orb_nifty_1m_2024_cleaned.csv.gz": ({}, 1, "1m", "58500 bars"),
    "oracle_si_intraday.csv.gz": ({"symbol": "NSE:X"}, 1, "1m", "1564 bars"),
    "oracle_si_quotes_502.csv.gz": ({"symbol": "NSE:X"}, 1, "1d", "502 bars"),
    # The results of another program, with the quotes behind them.
    "oracle_si_results_502.json.gz": ({"symbol": "NSE:X"}, 1, "1d", "502 bars"),
    "yahoo_RELIANCE_1996-2024.csv.gz": ({}, 1, "1d", "7255 bars"),
}


def rows_of(loaded: CandleImport) -> str:
    report = loaded.report
    parts = [f"{report.bars} bars"]
    parts += [f"{report.untraded} without a trade"] if report.untraded else []
    parts += [f"{report.repeated} repeated"] if report.repeated else []
    parts += [f"{count} left out ({reason})" for reason, count in report.left_out.items()]
    return " + ".join(parts)


@pytest.mark.slow
def test_every_file_of_candles_is_read_to_its_last_row(market_data: Path) -> None:
    for name, (given, instruments, timeframe, rows) in CANDLES.items():
        [loaded] = read_candle_files(market_data / name, ImportOptions(**given))
        report = loaded.report
        summary = (len(loaded.instruments), loaded.timeframe, rows_of(loaded))
        assert (name, *summary) == (name, instruments, timeframe, rows)
        taken = report.bars + report.untraded + report.repeated + sum(report.left_out.values())
        assert taken == report.rows
        assert sum(len(part.candles) for part in loaded.instruments) == report.bars


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.timeout(600)
def test_every_file_of_candles_is_stored_whole(market_data: Path) -> None:
    for name, (given, *_, rows) in CANDLES.items():
        out = StringIO()
        with transaction.atomic():
            call_command("load_candles", str(market_data / name), stdout=out, **given)
            held = CandleChunk.objects.aggregate(bars=Sum("bars"))["bars"]
            transaction.set_rollback(True)
        bars = int(rows.split()[0])
        assert (name, held) == (name, bars)
        assert out.getvalue().splitlines()[-1] == f"{bars} added, 0 held already, 0 replaced"


@pytest.mark.slow
def test_every_other_file_is_refused(market_data: Path) -> None:
    names = {path.name for path in market_data.iterdir()} - CANDLES.keys()
    for name in sorted(names):
        with pytest.raises(BadCandleFile):
            list(read_candle_files(market_data / name, ImportOptions(symbol="NSE:X")))


def test_nifty_minutes_of_2024(market_data: Path) -> None:
    loaded = ImportedSeries(market_data / "NIFTY_1m_2024.csv.gz")
    quality, bars = loaded.quality, loaded.candles
    assert (loaded.symbol, loaded.timeframe, loaded.name_in_file) == ("NSE:NIFTY", "1m", "NIFTY")
    assert (loaded.report.shifted, len(quality.days)) == (0, 156)
    assert bars.time[[0, -1]].tolist() == [at("2024-01-01 09:15"), at("2024-08-23 15:29")]
    assert quality.off_session == 167  # 2024-01-20, 15:30 to 18:16
    assert dates(quality.short_days) == ["2024-03-02", "2024-05-18"]  # a pause of 90 minutes
    assert dates(quality.unlisted_days) == []
    assert dates(quality.missing_days) == [
        "2024-02-01",
        "2024-03-04",
        "2024-04-05",
        "2024-05-07",
        "2024-07-10",
    ]
    assert quality.without_volume == 58127  # an index has none
    assert (bars.open[0], bars.high[0], bars.low[0], bars.close[0]) == (
        21727.75,
        21737.35,
        21701.80,
        21712.00,
    )
    assert not bars.volume.any()


def test_nifty_minutes_of_2009_keep_the_old_hours(market_data: Path) -> None:
    loaded = ImportedSeries(market_data / "NIFTY_1m_2009.csv.gz")
    assert loaded.report.shifted == 0  # though most days have a bar stamped 15:30
    assert loaded.quality.off_session == 227  # that bar
    assert loaded.candles.time[0] == at("2009-01-01 09:55")


def test_minutes_stamped_at_their_end_move_to_their_start(market_data: Path) -> None:
    path = market_data / "BANKNIFTY_1m_2021-12_odd.txt.gz"
    loaded = ImportedSeries(path)
    assert (loaded.symbol, loaded.report.shifted) == ("NSE:BANKNIFTY", 60)
    assert loaded.candles.time[:2].tolist() == [at("2021-12-01 09:07"), at("2021-12-01 09:15")]
    assert loaded.quality.off_session == 3 * 23  # 09:07, 15:30 and 15:31 of each day
    assert ImportedSeries(path, stamps=StampSide.START).report.shifted == 0


def test_infy_minutes(market_data: Path) -> None:
    loaded = ImportedSeries(market_data / "INFY_1m_2024-25.parquet")
    assert (loaded.symbol, loaded.name_in_file) == ("NSE:INFY", "INFY-EQ")
    quality = loaded.quality
    assert len(quality.days) == 248
    assert quality.off_session == 0  # the evening session of 2024-11-01 is listed
    assert dates(quality.short_days) == ["2024-05-18", "2025-01-07", "2025-04-21"]
    assert quality.without_volume == 1
    assert loaded.candles.time[-1] == at("2025-04-21 10:08")


def test_bhel_five_minutes_without_a_zone(market_data: Path) -> None:
    loaded = ImportedSeries(market_data / "BHEL_5m_2025-26.parquet")
    assert (loaded.symbol, loaded.timeframe) == ("NSE:BHEL", "5m")
    assert len(loaded.quality.days) == 254
    assert loaded.candles.time[0] == at("2025-02-19 09:15")
    assert dates(loaded.quality.short_days) == dates(loaded.quality.unlisted_days) == []


def test_sbin_days(market_data: Path) -> None:
    loaded = ImportedSeries(market_data / "nse_raw_SBIN_2008-26.csv.gz")
    assert (loaded.symbol, loaded.timeframe) == ("NSE:SBIN", "1d")
    assert loaded.candles.time[0] == at("2008-01-01 00:00")
    assert loaded.candles.close[0] == 2383.5
    assert loaded.candles.volume[-1] == 11756520
    assert loaded.quality.jumps.tolist() == [at("2014-11-20 00:00")]  # a split


def test_a_yfinance_file_of_three_header_lines(market_data: Path) -> None:
    loaded = ImportedSeries(market_data / "yahoo_RELIANCE_1996-2024.csv.gz")
    assert (loaded.symbol, loaded.symbol_source, loaded.report.prices) == (
        "NSE:RELIANCE",
        "above its rows",
        "adjusted",
    )
    assert loaded.candles.time[0] == at("1996-01-01 00:00")
    assert loaded.candles.open[0] == 7.319124221801758
    wrong = [at("1997-10-27 00:00"), at("2005-07-28 00:00")]
    assert set(wrong) <= {*loaded.quality.spikes.tolist(), *loaded.quality.jumps.tolist()}


def test_banknifty_quarters_are_repaired(market_data: Path) -> None:
    report = ImportedSeries(market_data / "BANKNIFTY_15m_2018-23.csv.gz").report
    assert report.repaired == 696
    assert report.largest_repair == pytest.approx(0.00289, abs=1e-5)


def test_bse_days_newest_first(market_data: Path) -> None:
    loaded = ImportedSeries(market_data / "bse_500325_RELIANCE_2013-19.csv.gz", **BSE_RELIANCE)
    assert loaded.report.out_of_order == 1509
    times = loaded.candles.time
    assert times[[0, -1]].tolist() == [at("2013-02-11 00:00"), at("2019-03-20 00:00")]


def test_a_name_with_other_characters_is_carried_into_the_grammar(market_data: Path) -> None:
    loaded = ImportedSeries(market_data / "nse_full_MandM_2019-26.csv.gz")
    assert (loaded.symbol, loaded.name_in_file) == ("NSE:MM", "M&M")


def test_a_portals_numbers_and_dates(market_data: Path) -> None:
    loaded = ImportedSeries(market_data / "mcx_GOLDM_investing_2015-21.txt.gz", symbol="MCX:GOLDM")
    last = loaded.candles.slice(len(loaded.candles) - 1, len(loaded.candles))
    assert last.time.tolist() == [at("2021-04-16 00:00")]
    assert (last.open[0], last.close[0], last.volume[0]) == (46808, 47022, 23540)


@pytest.mark.slow
def test_contracts_of_a_day_are_named_by_their_expiry(market_data: Path) -> None:
    [loaded] = read_candle_files(market_data / "nse_fo_udiff_2025-02-25.csv.gz")
    bars = {part.symbol: part.candles for part in loaded.instruments}
    future = bars["NSE:NIFTY25FEBFUT"]
    assert future.time.tolist() == [at("2025-02-25 00:00")]
    assert future.volume[0] % 75 == 0  # contracts times the lot of that day
    weekly = [symbol for symbol in bars if symbol.startswith("NSE:NIFTY25MAR06")]
    assert weekly
    assert "NSE:MM25MARFUT" in bars


def test_sessions_that_a_source_lacks_are_found(market_data: Path) -> None:
    quality = ImportedSeries(market_data / "nse_full_RELIANCE_2019-26.csv.gz").quality
    missing = dates(quality.missing_days)
    assert missing[-2:] == ["2021-11-04", "2022-08-08"]
    assert [day[:7] for day in missing[:-2]] == ["2019-08"] * 5 + ["2019-09"] * 19
