"""The worst input for each parser, of the largest accepted size.

A quadratic reader would take over 30 s for each of these; the timeout leaves room for a busy
machine.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.credentials import email_addresses
from apps.accounts.models import User
from apps.backtests.prefer_wait import parse_wait
from apps.core.errors import ServiceError
from apps.core.requests.addresses import client_address
from apps.core.requests.etags import expected
from apps.engine.candles.symbols import InvalidSymbol, Symbol
from apps.market.importers.action_files import read_actions
from apps.market.importers.candle_file import read_candle_files
from apps.symbols.importers.formats import angel, dhan, fivepaisa
from apps.symbols.importers.rows import RejectedRow
from tests.conftest import Api

pytestmark = pytest.mark.timeout(10)

# LINE: the longest that a list of instruments may have.
COUNT, MILLION, LINE = 60_000, 1_000_000, 99_000


def unknown_keys() -> dict[str, int]:
    """Return names near a known one, all of them plausible."""
    return {f"positionSizin{number}": 1 for number in range(COUNT // 2)}


CONDITION = {"type": "indicator_value", "indicator": {"type": "RS"}, "operator": "abov"}
ALGORITHMS: dict[str, dict[str, Any]] = {
    "unknown keys": unknown_keys(),
    "unknown keys of a step": {"basicInfo": unknown_keys()},
    "unknown keys of a condition": {
        "entryConditions": {"conditions": [{**CONDITION, **unknown_keys()}]}
    },
    "conditions": {"entryConditions": {"conditions": [CONDITION] * 10_000}},
    "one symbol again and again": {"basicInfo": {"symbols": ["NSE:RELIANCE"] * COUNT}},
    "wrong symbols": {"basicInfo": {"symbols": [f"nse-{number}" for number in range(COUNT)]}},
    "a long symbol": {"basicInfo": {"symbols": ["NSE:" + "24JAN" * (MILLION // 6)]}},
    "a long name": {"name": "a " * 400_000},
    "a wide config": {"walkForwardConfig": {str(number): [[]] for number in range(COUNT)}},
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_of_a_megabyte_is_read_or_refused(api: Api, alice: User, name: str) -> None:
    response = api(alice).post("/api/trading/algorithms", ALGORITHMS[name])
    assert response.status_code in (201, 400)


HEADERS = {
    "Accept": ";q=0.0" * 10_000 + " " * COUNT,
    "Prefer": "wait" + " " * COUNT + "," * COUNT,
    "If-Match": '"' * COUNT + 'W/"' * 10_000,
    "Idempotency-Key": "k " * COUNT,
    "X-Request-ID": "a" * COUNT,
    "X-Forwarded-For": "1.1.1.1," * 10_000,
    "Cookie": 'refreshToken="' + '\\"' * COUNT + "; =" * 10_000,
    "Authorization": "Bearer " + "a." * COUNT,
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_long_header_is_read_or_refused(api: Api, alice: User, name: str) -> None:
    response = api(alice).post("/api/trading/algorithms", {}, headers={name: HEADERS[name]})
    assert response.status_code in (201, 400, 401, 406, 431)


PARSERS: dict[str, Callable[[], object]] = {
    "e-mail address": lambda: email_addresses.is_valid("a." * MILLION + "@b.c"),
    "host of an e-mail address": lambda: email_addresses.is_valid("a@" + "b-" * MILLION),
    "symbol": lambda: Symbol.readings("NSE:" + "24JAN" * MILLION),
    "Prefer": lambda: parse_wait("wait" + " " * MILLION),
    "If-Match": lambda: expected({"If-Match": '"' * MILLION}),
    "X-Forwarded-For": lambda: client_address("127.0.0.1", ":" * MILLION, ()),
    "name of a Dhan option": lambda: dhan.read(
        {
            "SEM_EXM_EXCH_ID": "NSE",
            "SEM_SEGMENT": "D",
            "SEM_OPTION_TYPE": "CE",
            "SEM_EXCH_INSTRUMENT_TYPE": "OP",
            "SEM_TRADING_SYMBOL": "-Jan2024" * (LINE // 8) + "\n",
        },
        1,
    ),
    "name of a 5paisa option": lambda: fivepaisa.read(
        {"Exch": "N", "ExchType": "D", "ScripType": "CE", "Name": "N" + " " * LINE}, 1
    ),
    "name of an Angel option": lambda: angel.read(
        {
            "exch_seg": "NFO",
            "instrumenttype": "OPTIDX",
            "symbol": "99CE9" * (LINE // 5),
            "name": "N",
        },
        1,
    ),
}


@pytest.mark.parametrize("name", PARSERS)
def test_a_long_value_is_read_or_refused(name: str) -> None:
    with suppress(InvalidSymbol, RejectedRow):
        PARSERS[name]()


CANDLE_FILES = {
    "times": "Date,Open,High,Low,Close\n" + "00:00" * 200_000 + ",1,1,1,1\n",
    "delimiters": ",;|\t" * 20_000 + "\n" + ",;|\t" * 20_000,
    "quotes": 'Date,Open,High,Low,Close\n"' + '""' * 500_000,
    "digits": "Date,Open,High,Low,Close\n2024-01-01," + "9" * MILLION + ",1,1,1\n",
}


@pytest.mark.parametrize("name", CANDLE_FILES)
def test_a_candle_file_of_long_cells_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "NSE_SBIN_1d.csv"
    path.write_text(CANDLE_FILES[name])
    with pytest.raises(ServiceError):
        list(read_candle_files(path))


SUBJECTS = {
    "bonus": "bonus" + " " * LINE,
    "split": "split from rs 1 " * (LINE // 16),
}


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_corporate_action_with_a_long_subject_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "actions.csv"
    path.write_text(f"symbol,ex_date,subject\nSBIN,2024-01-01,{SUBJECTS[name]}x\n")
    with pytest.raises(ServiceError, match="more than 500 characters"):
        read_actions(path)
