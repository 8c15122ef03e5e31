"""Files with random damage are read or refused, with nothing in between."""

import gzip
import random
from pathlib import Path

import pytest

from apps.market.importers import BadCandleFile, ImportOptions, read_candle_files
from tests.market import test_formats as formats

HEADERLESS = "".join(f"BANKNIFTY,20240101,09:{m},100,101,99.5,100.5,{m},0\n" for m in range(15, 40))
GDFL = "Ticker,Date,Time,Open,High,Low,Close,Volume,Open Interest\n" + "".join(
    f"{name},26/05/2026,09:{m}:59,1,1,1,1,{m},0\n"
    for name in ("BANKNIFTY26MAY2643000PE.NFO", "RELIANCE.NSE")
    for m in range(15, 30)
)
PLAIN = "Date,Open,High,Low,Close,Volume\n" + "".join(
    f"2024-01-01 09:{m},100,101,99.95,100.5,10\n" for m in range(15, 40)
)
YAHOO = (
    "Price,Adj Close,Close,High,Low,Open,Volume\nTicker,A.NS,A.NS,A.NS,A.NS,A.NS,A.NS\n"
    "Date,,,,,,\n2024-01-01,1,7.34,7.36,7.27,7.3,100\n2024-01-02,1,7.4,7.5,7.3,7.35,200\n"
)
MCX = (
    "Date,Instrument Name,Symbol,Expiry Date,Option Type,Strike Price,Open,High,Low,Close,"
    "Previous Close,Volume(Lots)\n"
    '24 Sep 2026,FUTCOM,GOLD ,05OCT2026,-,0.00,"1,12,345.00","1,13,000","1,12,000","1,12,900",1,9\n'
)
UDIFF = formats.UDIFF + "".join(
    formats.udiff("IDO", "NIFTY", expiry="2025-02-27", strike=f"{strike}", option="CE")
    for strike in range(22000, 22500, 50)
)
CANDLES = ",".join(f'["2017-12-15T09:{m}:00+0530", 10, 12, 9, 11, {m}]' for m in range(15, 40))
JSON = f'{{"status": "success", "data": {{"candles": [{CANDLES}]}}}}'
NSE_FULL = formats.NSE_FULL + "".join(
    f"{name}, EQ, 0{day}-Sep-2025,800,801,812,799,810,811,806,200\n"
    for name in ("SBIN", "M&M", "BAJAJ-AUTO")
    for day in range(1, 6)
)
NSE_FO = formats.NSE_FO + "".join(
    f"OPTIDX,NIFTY,{day:02}-Jan-2020,12200,CE,12,15,10,14,14,7,1,1,1,01-JAN-2020,\n"
    for day in (2, 9, 16, 23, 30)
)
PIECES = (
    b",",
    b"\n",
    b'"',
    b"-",
    b"0",
    b"9" * 30,
    b"\x00",
    b"\xff",
    b"nan",
    b"e9",
    b" ",
    b":",
    b"",
)


def damaged(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(data) + 1)
        stop = min(len(data), start + rng.choice((0, 1, 1, 3, 40)))
        data = data[:start] + rng.choice(PIECES) + data[stop:]
    return data


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "text", [PLAIN, HEADERLESS, GDFL, YAHOO, MCX, UDIFF, JSON, NSE_FULL, NSE_FO]
)
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, text: str) -> None:
    rng = random.Random(text)
    path = tmp_path / "SBIN_1m.csv"
    read = 0
    for _ in range(1_000):
        data = damaged(text.encode(), rng)
        path.write_bytes(gzip.compress(data) if rng.random() < 0.1 else data)
        try:
            for loaded in read_candle_files(path, ImportOptions()):
                report = loaded.report
                taken = report.bars + report.untraded + report.repeated
                assert taken + sum(report.left_out.values()) == report.rows
                read += 1
        except BadCandleFile:
            continue
    print(f"{read} of 1,000 were read")
