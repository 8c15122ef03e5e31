"""POST /api/backtests refuses at once when its run would find too little history."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from django.conf import LazySettings

from apps.accounts.models import User
from apps.backtests.running import sufficient_history
from apps.backtests.running.submissions import read_date_range
from apps.engine.candles import Candles
from apps.engine.candles.resampling import resample
from apps.engine.language.strategy import parse
from apps.market.rulebook.sessions import sessions_of
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles

PATH = "/api/backtests"
MONDAY = "2024-02-05"
STEPS = {"5m": 300, "15m": 900}


@pytest.fixture(autouse=True)
def any_coverage(settings: LazySettings) -> None:
    """Allow any coverage: these tests count bars, in few sessions."""
    settings.BACKTEST_MIN_COVERAGE = 0


def bars(timeframe: str, count: int) -> Candles:
    """Return the first bars of many weeks; a day has 25 of 15m and 75 of 5m."""
    return wave_candles(MONDAY, 60, step=STEPS[timeframe]).slice(0, count)


def reading(own: str, longer: str, candles: int) -> dict[str, Any]:
    """Return steps that read only the close and an average of this many longer candles."""
    condition = {
        "type": "indicator_indicator",
        "indicator1": {"type": "PRICE"},
        "operator": "above",
        "indicator2": {"type": "SMA", "period": candles, "timeframe": longer},
    }
    basic = make.steps()["basicInfo"] | {"timeframe": own}
    return make.steps(
        basicInfo=basic, entryConditions={"positionType": "long", "conditions": [condition]}
    )


def outcome(api: Api, alice: User, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Compare the answer to the request with the end of its run."""
    client = api(alice)
    answer = client.post(PATH, body)
    with monkeypatch.context() as patched:
        patched.setattr(sufficient_history, "require_bars", lambda *facts: None)
        unseen = client.post(PATH, body).json()
    run_queued()
    error = client.get(f"{PATH}/{unseen['id']}").json()["error"]
    came_of = answer.status_code, error and error["code"]
    assert came_of in {(201, None), (422, "INSUFFICIENT_DATA")}
    return answer


class Case(NamedTuple):
    """An average of `candles` longer candles, `held` bars, and the usable bars of the range: a day
    is visible on the next date, a week in the next week, an hour at its end.
    """

    own: str
    longer: str
    candles: int
    held: int
    usable: int
    start: str = MONDAY


CASES = [
    Case("5m", "1d", 20, held=20 * 75, usable=0),
    Case("5m", "1d", 20, held=20 * 75 + 1, usable=1),
    Case("5m", "1d", 20, held=20 * 75 + 2, usable=2),
    Case("15m", "1d", 8, held=8 * 25, usable=0),
    Case("15m", "1d", 8, held=8 * 25 + 1, usable=1, start="2024-02-12"),
    Case("15m", "1d", 8, held=8 * 25 + 2, usable=2, start="2024-02-12"),
    Case("15m", "1d", 8, held=9 * 25, usable=25, start="2024-02-15"),
    Case("15m", "1d", 8, held=10 * 25, usable=24, start="2024-02-16T09:30:00+05:30"),
    Case("15m", "1w", 2, held=10 * 25, usable=0),
    Case("15m", "1w", 2, held=10 * 25 + 1, usable=1),
    Case("15m", "1w", 2, held=10 * 25 + 2, usable=2, start="2024-02-14"),
    Case("15m", "1w", 2, held=11 * 25, usable=25, start="2024-02-19"),
    Case("15m", "1h", 4, held=15, usable=0),
    Case("15m", "1h", 4, held=16, usable=1),
    Case("15m", "1h", 4, held=17, usable=2),
    Case("15m", "1h", 4, held=17, usable=2, start=f"{MONDAY}T12:00:00+05:30"),
    Case("15m", "1h", 4, held=15, usable=0, start=f"{MONDAY}T12:30:00+05:30"),
    Case("15m", "1h", 7, held=27, usable=3),  # the seventh hour is the session's last quarter
    Case("15m", "1h", 8, held=29, usable=1),
    Case("15m", "1h", 8, held=30, usable=2),
]
WHERE_LONGER_ARE_STORED = [
    pytest.param(case, stored, marks=[] if is_quick else pytest.mark.slow)
    for number, case in enumerate(CASES)
    for stored, is_quick in [
        ("not", True),
        ("as far as bars", False),
        ("further than bars", number % 4 == 1),
    ]
]
"""Each with how far the longer candles themselves are held."""


@pytest.mark.django_db
@pytest.mark.parametrize(("case", "stored"), WHERE_LONGER_ARE_STORED, ids=str)
def test_a_range_is_refused_if_and_only_if_its_run_would_fail(
    api: Api, alice: User, monkeypatch: pytest.MonkeyPatch, case: Case, stored: str
) -> None:
    store_candles("NSE:NIFTY", case.own, bars(case.own, case.held))
    if stored != "not":
        known = bars(case.own, case.held if stored == "as far as bars" else case.held + 1000)
        candles = resample(known, case.own, case.longer, sessions_of("NSE:NIFTY"))
        store_candles("NSE:NIFTY", case.longer, candles)
    algorithm = make.algorithm(alice, **reading(case.own, case.longer, case.candles)).pk
    body = {"algorithmId": algorithm, "startDate": case.start, "endDate": "2024-12-31"}
    answer = outcome(api, alice, body, monkeypatch)
    if case.usable >= 2:
        assert answer.status_code == 201
    else:
        wanted = {"barsInRange": case.usable, "timeframe": case.longer}
        assert_error(answer, 422, "INSUFFICIENT_DATA", warmUpBars=case.candles - 1, **wanted)


@pytest.mark.django_db
def test_the_first_symbol_that_has_too_little_is_named(
    api: Api, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for symbol, count in (("NSE:NIFTY", 500), ("NSE:TCS", 202), ("NSE:INFY", 201)):
        store_candles(symbol, "15m", bars("15m", count))
    algorithm = make.algorithm(alice, **reading("15m", "1d", 8)).pk
    body = {"algorithmId": algorithm, "startDate": MONDAY, "endDate": "2024-12-31"}
    both = body | {"symbols": ["NSE:NIFTY", "NSE:TCS"]}
    assert outcome(api, alice, both, monkeypatch).status_code == 201
    answer = outcome(api, alice, body | {"symbols": [*both["symbols"], "NSE:INFY"]}, monkeypatch)
    assert_error(answer, 422, "INSUFFICIENT_DATA", symbol="NSE:INFY", barsInRange=1)


@pytest.mark.django_db
def test_a_candle_that_began_before_the_range_does_not_count(
    api: Api, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four hours have begun at 12:30; the five-minute bars of 12:30 and 12:35 see three of them."""
    day = bars("5m", 75)
    store_candles("NSE:NIFTY", "5m", day.slice(39, 41))
    store_candles(
        "NSE:NIFTY", "1h", resample(day, "5m", "1h", sessions_of("NSE:NIFTY")).slice(0, 4)
    )
    body = {"startDate": f"{MONDAY}T12:30:00+05:30", "endDate": MONDAY}
    for candles, status in ((3, 201), (4, 422)):
        algorithm = make.algorithm(alice, **reading("5m", "1h", candles)).pk
        answer = outcome(api, alice, body | {"algorithmId": algorithm}, monkeypatch)
        assert answer.status_code == status


@pytest.mark.django_db
@pytest.mark.parametrize(("start", "queries"), [(MONDAY, 5), ("2024-03-25", 3)])
def test_enough_history_is_found_without_reading_a_bar(
    start: str, queries: int, django_assert_num_queries: Callable[[int], Any]
) -> None:
    """The bars are before the range, or in its first half."""
    names = ["NSE:NIFTY", "NSE:TCS"]
    for symbol in names:
        store_candles(symbol, "15m", bars("15m", 60 * 25))
    steps = reading("15m", "1d", 8)
    strategy = parse(steps | {"basicInfo": steps["basicInfo"] | {"symbols": names}})
    with django_assert_num_queries(queries):
        sufficient_history.require_bars(
            strategy, read_date_range(start, "2024-04-26", now=make.NOW)
        )
