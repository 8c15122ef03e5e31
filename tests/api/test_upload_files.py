"""POST /api/market/candle-files and /api/market/masters"""

import gzip
from base64 import b64encode
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.core.api.middleware import MAX_BODY
from apps.core.files.uploads import MOST_UPLOADED
from apps.core.models import AuditRecord
from apps.market.candles import reading
from apps.market.models import CandleFile, ReplacedChunk
from apps.symbols.models import Instrument, MasterLoad
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import at, flat_candles, store_candles
from tests.symbols import master_files

CANDLES = "/api/market/candle-files"
MASTERS = "/api/market/masters"
DAYS = """date,open,high,low,close,volume
2026-04-08,100,102,99,101,1000
2026-04-09,101,103,100,102,1100
"""


@pytest.fixture
def client(api: Api, alice: User) -> APIClient:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    return api(alice)


def sent(text: str | bytes, name: str = "SBIN_1d.csv", **options: Any) -> dict[str, object]:
    content = text if isinstance(text, bytes) else text.encode()
    return {"name": name, "content": b64encode(content).decode(), **options}


def days(**options: Any) -> dict[str, object]:
    return sent(DAYS, symbol="NSE:SBIN", **options)


def post(client: APIClient, path: str, body: dict[str, object]) -> dict[str, Any]:
    response = client.post(path, body)
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def test_a_check_lists_the_changes_and_stores_nothing(client: APIClient) -> None:
    answer = post(client, CANDLES, days())
    assert (answer["stored"], answer["added"], answer["repeated"]) == (False, 2, 0)
    [file] = answer["files"]
    assert file["file"] == "SBIN_1d.csv"
    assert any("2 rows = 2 bars" in line for line in file["lines"])
    assert reading.stored_timeframes("NSE:SBIN") == []
    assert not CandleFile.objects.exists()
    assert not AuditRecord.objects.filter(action="candle_file_loaded").exists()


def test_the_file_that_was_checked_is_stored(client: APIClient) -> None:
    fingerprint = post(client, CANDLES, days())["fingerprint"]
    answer = post(client, CANDLES, days(checked=fingerprint))
    assert (answer["stored"], answer["added"]) == (True, 2)
    [row] = reading.stored_timeframes("NSE:SBIN")
    assert (row["timeframe"], row["bars"]) == ("1d", 2)
    record = AuditRecord.objects.get(action="candle_file_loaded")
    assert record.details["fingerprint"] == fingerprint
    again = post(client, CANDLES, days())
    assert (again["added"], again["repeated"]) == (0, 2)


def test_a_column_that_may_be_ignored_is_named(client: APIClient) -> None:
    text = DAYS.replace("volume", "volume,Scrip").replace("00\n", "00,X\n")
    error = assert_error(
        client.post(CANDLES, sent(text, symbol="NSE:SBIN")), 400, "VALIDATION_ERROR"
    )
    assert "Scrip" in error["message"]
    answer = post(client, CANDLES, sent(text, symbol="NSE:SBIN", ignoreColumns=["scrip"]))
    assert answer["added"] == 2


def test_a_sample_is_replaced_only_on_request(client: APIClient) -> None:
    generated = flat_candles([at("2026-06-30 00:00")])
    store_candles("NSE:SBIN", "1d", generated, synthetic=True)
    error = assert_error(client.post(CANDLES, days()), 409, "CONFLICT")
    assert error["details"] == {"samples": ["NSE:SBIN 1d (until 30 June 2026, 00:00 IST)"]}
    check = post(client, CANDLES, days(replaceSample=True))
    assert (check["added"], check["dropped"]) == (2, 1)
    assert reading.stored_timeframes("NSE:SBIN")[0]["bars"] == 1
    post(client, CANDLES, days(replaceSample=True, checked=check["fingerprint"]))
    [row] = reading.stored_timeframes("NSE:SBIN")
    assert (row["bars"], "synthetic" in row) == (2, False)
    assert ReplacedChunk.objects.get().synthetic


@pytest.mark.parametrize(
    "other",
    [
        sent(DAYS.replace("1000", "1001"), symbol="NSE:SBIN"),
        sent(DAYS, symbol="NSE:TCS"),
        days(replace=True),
    ],
    ids=["another file", "another symbol", "another option"],
)
def test_an_unchecked_file_is_not_stored(client: APIClient, other: dict[str, object]) -> None:
    fingerprint = post(client, CANDLES, days())["fingerprint"]
    assert_error(client.post(CANDLES, {**other, "checked": fingerprint}), 409, "CONFLICT")
    assert not CandleFile.objects.exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (DAYS + "2026-04-10,x,1,1,1,1\n", "line 4"),
        (DAYS.replace("2026-04-09,101,103", "2026-04-09,101,90"), "line 3"),
        ("no candles at all", "SBIN_1d.csv"),
        ("", "may not be empty|must hold"),
    ],
)
def test_an_error_of_a_file_gives_its_place(client: APIClient, text: str, reason: str) -> None:
    store_before = post(client, CANDLES, days())["fingerprint"]
    post(client, CANDLES, days(checked=store_before))
    error = assert_error(
        client.post(CANDLES, sent(text, symbol="NSE:SBIN")), 400, "VALIDATION_ERROR"
    )
    assert any(part in error["message"] for part in reason.split("|")), error["message"]
    [row] = reading.stored_timeframes("NSE:SBIN")
    assert row["bars"] == 2


def test_packed_files_are_read_and_broken_files_refused(client: APIClient) -> None:
    packed = gzip.compress(DAYS.encode())
    assert post(client, CANDLES, sent(packed, "NSE_SBIN.csv.gz", symbol="NSE:SBIN"))["added"] == 2
    cut = sent(packed[:-9], "../../etc/x.csv.gz", symbol="NSE:SBIN")
    error = assert_error(client.post(CANDLES, cut), 400, "VALIDATION_ERROR")
    assert "x.csv.gz is a damaged" in error["message"].replace(": ", " ")


def test_a_file_may_be_longer_than_other_bodies_but_not_without_end(client: APIClient) -> None:
    rows = DAYS.splitlines(keepends=True)
    longer = sent(rows[0] + rows[1] + "\n" * MAX_BODY, symbol="NSE:SBIN", timeframe="1d")
    assert post(client, CANDLES, longer)["added"] == 1
    too_long = sent(b"\n" * (MOST_UPLOADED + 3))
    assert_error(client.post(CANDLES, too_long), 400, "VALIDATION_ERROR", field="content")
    assert_error(client.post(CANDLES, sent(b"\n" * 7 * MAX_BODY)), 413, "VALIDATION_ERROR")


def test_a_master_is_checked_then_imported(client: APIClient) -> None:
    answer = post(client, MASTERS, sent(master_files.KITE, "instruments.csv"))
    assert (answer["stored"], answer["source"], answer["added"]) == (False, "kite", answer["added"])
    assert answer["added"] > 0
    assert answer["lines"][0].startswith("instruments.csv: Kite")
    assert not Instrument.objects.exists()
    body = sent(master_files.KITE, "instruments.csv", checked=answer["fingerprint"])
    assert post(client, MASTERS, body)["stored"] is True
    assert Instrument.objects.count() == answer["added"]
    assert MasterLoad.objects.exists()
    [record] = AuditRecord.objects.filter(action="master_loaded")
    assert record.details["source"] == "kite"
    assert post(client, MASTERS, sent(master_files.KITE, "instruments.csv"))["unchanged"] > 0


def test_a_master_may_be_of_an_earlier_day(client: APIClient) -> None:
    dated = sent(master_files.KITE, "instruments.csv", asOf="2020-01-02")
    assert post(client, MASTERS, dated)["asOf"] == "2020-01-02"
    assert_error(
        client.post(MASTERS, {**dated, "asOf": "2999-01-01"}), 400, "VALIDATION_ERROR", field="asOf"
    )


def test_an_invalid_master_is_refused(client: APIClient) -> None:
    error = assert_error(client.post(MASTERS, sent(DAYS)), 400, "VALIDATION_ERROR")
    assert "its columns are date, open" in error["message"]
    assert_error(
        client.post(MASTERS, sent(master_files.KITE, source="upstox")), 400, "VALIDATION_ERROR"
    )


@pytest.mark.parametrize("path", [CANDLES, MASTERS])
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"content": "no base64!"}, "content"),
        ({"content": 7}, "content"),
        ({"name": ""}, "name"),
        ({"checked": "abc"}, "checked"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_a_wrong_body_is_refused(
    client: APIClient, path: str, change: dict[str, object], field: str
) -> None:
    error = assert_error(client.post(path, {**sent(DAYS), **change}), 400, "VALIDATION_ERROR")
    assert error["details"]["field"] == field


@pytest.mark.parametrize("path", [CANDLES, MASTERS])
def test_files_are_for_operators(api: Api, bob: User, path: str) -> None:
    assert_error(api(bob).post(path, sent(DAYS)), 403, "FORBIDDEN")
