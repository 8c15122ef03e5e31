"""Real market files, read as they were found."""

from datetime import date
from pathlib import Path

import pytest

from apps.market.importers import BadCandleFile, read_candle_file
from tests.market.bars import at


def dates(days: tuple[date, ...]) -> list[str]:
    return [str(day) for day in days]


def test_nifty_minutes_of_2024(market_data: Path) -> None:
    loaded = read_candle_file(market_data / "NIFTY_1m_2024.csv.gz")
    report, bars = loaded.report, loaded.candles
    assert (loaded.symbol, loaded.timeframe, loaded.called) == ("NSE:NIFTY", "1m", "NIFTY")
    assert (report.rows, report.kept, report.days) == (58127, 58127, 156)
    assert (report.first, report.last) == (at("2024-01-01 09:15"), at("2024-08-23 15:29"))
    assert report.off_session == 167  # 2024-01-20, 15:30 to 18:16
    assert dates(report.unlisted_days) == []  # of the three Saturdays each is listed
    assert dates(report.short_days) == ["2024-03-02", "2024-05-18"]  # with a pause of 90 minutes
    assert report.without_volume == 58127  # an index has none
    assert (bars.open[0], bars.high[0], bars.low[0], bars.close[0]) == (
        21727.75, 21737.35, 21701.80, 21712.00,
    )  # fmt: skip
    assert not bars.volume.any()


def test_nifty_minutes_of_2009_keep_the_old_hours(market_data: Path) -> None:
    report = read_candle_file(market_data / "NIFTY_1m_2009.csv.gz").report
    assert (report.kept, report.days) == (76897, 230)
    assert report.off_session == 227  # one bar stamped 15:30 on nearly every day
    assert report.first == at("2009-01-01 09:55")


def test_infy_minutes(market_data: Path) -> None:
    loaded = read_candle_file(market_data / "INFY_1m_2024-25.parquet")
    report = loaded.report
    assert (loaded.symbol, loaded.called) == ("NSE:INFY", "INFY-EQ")
    assert (report.rows, report.kept, report.repeated, report.days) == (91850, 91844, 6, 248)
    assert report.off_session == 0  # the evening session of 2024-11-01 is listed
    assert dates(report.short_days) == ["2024-05-18", "2025-01-07", "2025-04-21"]
    assert report.without_volume == 1
    assert report.last == at("2025-04-21 10:08")


def test_bhel_five_minutes_without_a_zone(market_data: Path) -> None:
    loaded = read_candle_file(market_data / "BHEL_5m_2025-26.parquet")
    assert (loaded.symbol, loaded.timeframe) == ("NSE:BHEL", "5m")
    assert (loaded.report.kept, loaded.report.days) == (18987, 254)
    assert loaded.report.first == at("2025-02-19 09:15")
    assert dates(loaded.report.short_days) == []  # 2025-10-21 is an hour in the afternoon
    assert dates(loaded.report.unlisted_days) == []  # 2026-02-01 is the Budget's Sunday


def test_sbin_days(market_data: Path) -> None:
    loaded = read_candle_file(market_data / "nse_raw_SBIN_2008-26.csv.gz")
    assert (loaded.symbol, loaded.timeframe) == ("NSE:SBIN", "1d")
    assert loaded.report.kept == 4533
    assert loaded.report.first == at("2008-01-01 00:00")
    assert loaded.candles.close[0] == 2383.5
    assert loaded.candles.volume[-1] == 11756520
    assert (loaded.report.jumps, loaded.report.first_jump) == (1, at("2014-11-20 00:00"))  # a split


def test_goog_days_with_an_unnamed_date_column(market_data: Path) -> None:
    path = market_data / "oracle_goog_daily.csv.gz"
    loaded = read_candle_file(path, symbol="NSE:GOOG")
    assert (loaded.timeframe, loaded.report.kept) == ("1d", 2148)
    with pytest.raises(BadCandleFile, match="give it with --symbol"):
        read_candle_file(path)


def test_banknifty_quarters_are_repaired(market_data: Path) -> None:
    report = read_candle_file(market_data / "BANKNIFTY_15m_2018-23.csv.gz").report
    assert (report.kept, report.days, report.repaired) == (34300, 1372, 696)
    assert report.largest_repair == pytest.approx(0.00289, abs=1e-5)


def test_bse_days_newest_first(market_data: Path) -> None:
    path = market_data / "bse_500325_RELIANCE_2013-19.csv.gz"
    report = read_candle_file(path, symbol="BSE:RELIANCE").report
    assert (report.kept, report.out_of_order) == (1510, 1509)
    assert (report.first, report.last) == (at("2013-02-11 00:00"), at("2019-03-20 00:00"))


def test_a_name_with_other_characters_is_carried_into_the_grammar(market_data: Path) -> None:
    loaded = read_candle_file(market_data / "nse_full_MandM_2019-26.csv.gz")
    assert (loaded.symbol, loaded.called) == ("NSE:MM", "M&M")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("mcx_CRUDEOIL_opt_1m_2025-06.csv.gz", "holds 4 instruments"),
        ("yahoo_RELIANCE_1996-2024.csv.gz", "missing: timestamp"),
        ("BANKNIFTY_1m_2021-12_odd.txt.gz", "its columns are BANKNIFTY, 20211201"),
        ("bse_SENSEX_2012-19.csv.gz", "line 2: has 6 fields where the header has 5"),
        ("kite_nfo_bfo_2026-08.csv.gz", "missing: timestamp"),
    ],
)
def test_other_layouts_are_refused_by_name(market_data: Path, name: str, told: str) -> None:
    with pytest.raises(BadCandleFile, match=told):
        read_candle_file(market_data / name, symbol="NSE:X")
