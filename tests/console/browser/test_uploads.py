"""Files that an operator uploads by the page of data: real ones, and bad ones."""

import gzip
import re
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from apps.core.files.uploads import MOST_UPLOADED
from apps.core.times import INDIA
from tests.console.browser.trader import complaints_of
from tests.faults.service import Service

HEAD = b"date,open,high,low,close,volume\n"
DAY = b"2026-04-08,100,102,99,101,1000\n"
BAD_FILES = {
    "empty.csv": b"",
    "head-alone.csv": HEAD,
    "words.csv": b"What is this?\n" * 40,
    "no-number.csv": HEAD + DAY + b"2026-04-09,ten,1,1,1,1\n",
    "no-date.csv": HEAD + b"2026-02-30,100,102,99,101,1000\n",
    "high-below-low.csv": HEAD + b"2026-04-08,100,90,99,101,1000\n",
    "infinite.csv": HEAD + b"2026-04-08,inf,inf,99,101,1000\n",
    "not-a-number.csv": HEAD + b"2026-04-08,nan,102,99,101,1000\n",
    "nul.csv": HEAD + b"2026-04-08,1\x0000,102,99,101,1000\n",
    "latin-1.csv": b"d\xe4te,open,high,low,close\n2026-04-08,1,1,1,1\n",
    "utf-16.csv": (HEAD + DAY).decode().encode("utf-16"),
    "huge-number.csv": HEAD + b"2026-04-08," + b"9" * 400 + b",102,99,101,1000\n",
    "long-line.csv": HEAD + b"2026-04-08," + b"1" * 1_000_000 + b"\n",
    "cut.csv.gz": gzip.compress((HEAD + DAY) * 100)[:60],
    "cut.parquet": b"PAR1" + b"\x15\x04" * 100 + b"PAR1",
    "no-zip.zip": b"PK\x03\x04" + b"\x00" * 60,
    "bomb.csv.gz": gzip.compress(HEAD + DAY * 5_000_000, 9),
    "deep.json": b"[" * 100_000,
    "<img src=x onerror=alert(1)>.csv": HEAD + b"<script>alert(1)</script>,1,1,1,1,1\n",
}
STORED = """
    SELECT coalesce(string_agg(sha256, ',' ORDER BY symbol, timeframe, period_start), ''),
        (SELECT count(*) FROM symbols_instrument), (SELECT count(*) FROM market_candlefile)
    FROM market_candlechunk
"""
BARS = "SELECT sum(bars) FROM market_candlechunk WHERE symbol = %s AND timeframe = %s"
SECONDS_TO_STORE = 60_000
OVER_SAMPLE = "Replace sample candles"


def check(page: Page, path: Path, *ticked: str, form: str = "Candles", **options: str) -> str:
    """Have a file checked, with these boxes ticked; return the report."""
    page.goto("/app/data/upload")
    card = page.locator("form.card").filter(has=page.get_by_role("heading", name=form))
    card.get_by_label("File", exact=True).set_input_files(path)
    for label, text in options.items():
        card.get_by_label(label, exact=True).fill(text)
    for label in ticked:
        card.get_by_label(label).check()
    with page.expect_response("**/app/data/upload") as answered:
        card.get_by_role("button", name="Check file").click()
    assert answered.value.status < 500
    report = card.locator("[aria-live]")
    expect(report.locator("h3, .notice").first).to_be_visible(timeout=SECONDS_TO_STORE)
    return report.inner_text()


def store(page: Page) -> int:
    """Store the checked file; return the number of added rows."""
    page.get_by_role("button", name="Store file").click()
    notice = page.locator("#notices").get_by_text("Stored:")
    expect(notice).to_be_visible(timeout=SECONDS_TO_STORE)
    return int(re.sub(r"\D", "", notice.inner_text()))


def added_of(report: str) -> int:
    match = re.search(r"Added\s+([\d,]+)", report)
    assert match, report
    return int(match[1].replace(",", ""))


def stored(up: Service) -> tuple[object, ...]:
    """Return the stored candles and instruments, as counts."""
    with up.database() as database:
        row = database.execute(STORED).fetchone()
    assert row is not None
    return row


def test_a_file_of_the_largest_allowed_size(page: Page, up: Service, tmp_path: Path) -> None:
    path = tmp_path / "TCS_1m.csv"
    path.write_bytes(minutes(MOST_UPLOADED))
    before = most_memory(up)
    began = time.monotonic()
    report = check(page, path, OVER_SAMPLE, Symbol="NSE:TCS")
    checked = time.monotonic()
    assert store(page) == added_of(report) > 60_000
    print(
        f"\n{path.stat().st_size:,} bytes, {added_of(report):,} candles: checked in"
        f" {checked - began:.1f} s, stored in {time.monotonic() - checked:.1f} s;"
        f" a web process had {before} MB at most, and {most_memory(up)} MB now"
    )


def test_a_real_candle_file_is_stored_as_checked(
    page: Page, up: Service, market_data: Path
) -> None:
    path = market_data / "INFY_1m_2024-25.parquet"
    before = stored(up)
    assert "A generated sample is stored" in check(page, path, Symbol="NSE:INFY")
    report = check(page, path, OVER_SAMPLE, Symbol="NSE:INFY")
    assert "nothing is stored yet" in report
    assert stored(up) == before
    assert store(page) == added_of(report) > 90_000
    with up.database() as database:
        bars = database.execute(BARS, ["NSE:INFY", "1m"]).fetchone()
    assert bars == (added_of(report),)
    page.goto("/app/data?query=INFY")
    expect(page.get_by_role("link", name="NSE:INFY").first).to_be_visible()
    again = check(page, path, Symbol="NSE:INFY")
    assert added_of(again) == 0


def test_a_real_master_is_imported_as_checked(page: Page, up: Service, market_data: Path) -> None:
    path = market_data / "dhan_compact_eq_2026-07.csv.gz"
    before = stored(up)
    report = check(page, path, form="Instruments")
    assert "Dhan" in report
    assert stored(up) == before
    assert store(page) == added_of(report) > 9_000
    assert added_of(check(page, path, form="Instruments")) == 0


@pytest.mark.parametrize("form", ["Candles", "Instruments"])
@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused_and_nothing_is_lost(
    page: Page, up: Service, tmp_path: Path, name: str, form: str
) -> None:
    complaints = complaints_of(page)
    path = tmp_path / name
    path.write_bytes(BAD_FILES[name])
    before = stored(up)
    report = check(page, path, form=form, **({"Symbol": "NSE:SBIN"} if form == "Candles" else {}))
    print(f"\n{name}: {report}")
    assert "Nothing was stored" in report
    assert page.get_by_role("button", name="Store file").count() == 0
    assert page.locator("main img[src=x], main script").count() == 0
    assert stored(up) == before
    assert complaints == []


def test_a_file_that_is_too_large_is_not_sent(page: Page, up: Service, tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    path.write_bytes(HEAD + DAY * (MOST_UPLOADED // len(DAY) + 1))
    requests: list[str] = []
    page.goto("/app/data/upload")
    page.on("request", lambda request: requests.append(request.method))
    field = page.locator("#candles-file")
    field.set_input_files(path)
    page.get_by_role("button", name="Check file").first.click()
    problem = field.evaluate("field => field.validationMessage")
    assert problem == "The file is larger than 5.0\N{NO-BREAK SPACE}MB."
    assert "POST" not in requests
    field.evaluate("field => { field.setCustomValidity(''); delete field.dataset.largest; }")
    page.get_by_role("button", name="Check file").first.click()
    expect(page.locator("#candles-report")).to_contain_text("Nothing was stored")
    path.write_bytes(path.read_bytes() * 2)
    field.set_input_files(path)
    page.get_by_role("button", name="Check file").first.click()
    expect(page.locator("#notices [role=alert]")).to_be_visible()
    assert "{" not in page.locator("main").inner_text()


def minutes(size: int) -> bytes:
    """Return minutes of weekdays as CSV, with at most this many bytes."""
    opening = datetime(2025, 6, 2, 9, 15, tzinfo=INDIA)
    days = [opening + timedelta(days=n) for n in range(400)]
    lines = [
        f"{day + timedelta(minutes=minute)},3500.05,3501.10,3499.95,3500.50,12345"
        for day in days
        if day.weekday() < 5
        for minute in range(375)
    ]
    text = "\n".join([HEAD.decode().strip(), *lines]).encode()
    return text[: text.rindex(b"\n", 0, size) + 1]


def most_memory(up: Service) -> int:
    """Return the peak memory of a web process, in MB."""
    texts = [Path(f"/proc/{pid}/status").read_text() for pid in up.running()["web"]]
    return max(int(re.findall(r"VmHWM:\s+(\d+)", text)[0]) // 1024 for text in texts)
