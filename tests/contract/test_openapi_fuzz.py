"""schemathesis sends every operation the requests that the document allows and forbids.

Its requests go through WSGI into the whole application, and all of its checks judge the answers.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig
from schemathesis.core.result import Ok
from schemathesis.pytest.lazy import get_all_tests
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from apps.accounts.login import tokens
from apps.accounts.models import User
from tests.backtests.price_series import wave_candles
from tests.contract.test_isolation import owned
from tests.market.bars import store_candles
from tests.openapi import document

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

OPERATIONS = {
    operation["operationId"]: path
    for path, item in document()["paths"].items()
    for operation in item.values()
}
FOUND_OUT_LATER = ["2xx", "404", "409", "412", "422"]
"""A schema tells the shape of a request. What there is, in what state it is and whether it can give
a result is found out afterwards, and refused with one of these.
"""
_HALF_A_CONTRACT = r"contract|two digits|is not a month|is not a date|After \d"
_TOO_LATE = "after the year"
_OF_ALGORITHMS = (
    "needs isTemplate to be true"  # it may be one already
    "|must be later than from"  # a window of the day runs forward
    "|must be greater than fastPeriod"
    "|must be longer than basicInfo.timeframe"
    "|candles before its first value"  # periods and offsets add up
    "|is not used by the operator"
    "|further from 0 than"
    f"|is not a symbol: .*({_HALF_A_CONTRACT})"
)
_OF_STUDIES = (
    "is not used by kind"  # a configuration of another one
    "|leads nowhere|leads to a value that is not a number|is not a path|is not part of the strategy"
    "|must not be less than from|makes more than 10,000 values"
    "|names a path more than once|parameters make|maxRuns is less"
    "|is required|is not a known field|must be at (least|most)"  # of a place in the steps
)
_OF_TARGETS = r"https|not a URL|fragment|user name|port|host|public|reached|characters"
"""A URL may have the form of one and lead where nobody may be called."""
# JSON that is forbidden everywhere, which the schemas of free objects and ignored fields do not
# express; and format characters beyond Unicode's first plane, which patterns omit.
ANY_VALUE = "NUL or half|lies outside|deeper than|holds a control character|bytes"
BEYOND_A_SCHEMA = {
    "logIn": (401, "password"),  # of nobody's account
    "refreshToken": (401, "refresh token"),  # of no session
    "changePassword": (400, "is not your password"),
    "createKey": (400, "must lie in the future|is not a network"),
    "proveIdentity": (400, "is not your password"),
    "beginTwoFactor": (403, "Prove who you are first"),  # a login alone is no proof
    "confirmTwoFactor": (400, "is not the current code"),
    "readCandles": (400, f"lies before from|{_TOO_LATE}|{_HALF_A_CONTRACT}"),
    "readCoverage": (400, _HALF_A_CONTRACT),
    # Brokers are data, and of floats some multiples of 0.0001 have more places.
    "readCharges": (400, f"allowed values|four places|{_HALF_A_CONTRACT}"),
    "readChargeRates": (400, "allowed values|is not a segment of"),
    # The symbols are those it traded.
    "explainCandle": (400, f"of this backtest|{_TOO_LATE}|{_HALF_A_CONTRACT}"),
    "readChart": (400, f"of this backtest|lies before from|{_TOO_LATE}|{_HALF_A_CONTRACT}"),
    "listTrades": (400, f"of this backtest|{_HALF_A_CONTRACT}"),
    "submitBacktest": (
        400,
        f"in the future|before 1990|before startDate|{_TOO_LATE}|{_HALF_A_CONTRACT}|{_OF_STUDIES}",
    ),
    "renameBacktest": (400, "and so is `kept`"),
    "simulateChanges": (400, f"and so is any step|{_OF_STUDIES}"),
    "streamEvents": (400, f"A symbol has at most|{_HALF_A_CONTRACT}"),  # of several in one text
    "compareBacktests": (400, "must be the ids of two backtests"),  # two different ones
    "createAlgorithm": (400, _OF_ALGORITHMS),
    "putAlgorithm": (400, _OF_ALGORITHMS),
    "updateAlgorithm": (400, _OF_ALGORITHMS),
    "summarizeVersion": (400, "is not a version of this algorithm"),
    "createWebhook": (400, _OF_TARGETS),
    "changeWebhook": (400, _OF_TARGETS),
    "sendCandles": (
        400,
        f"outside its low|lies before|is there already|{_TOO_LATE}|{_HALF_A_CONTRACT}",
    ),
    # No text that is made at random is a file.
    "uploadCandles": (400, f": |must be base64|{_HALF_A_CONTRACT}"),
    "uploadMaster": (400, ": |must be base64|lies in the future"),
    "recoverWebhook": (400, "must not lie in the future"),
}
"""What else refuses a well formed request, by what the answer says: rules that relate two values,
a value to the clock, or letters to the calendar.
"""
FUZZED_ONLY = {"createAlgorithm", "putAlgorithm", "updateAlgorithm"}
"""Of these schemathesis would also try each edge of each field in turn, 20,000 requests each, and
make each of the examples that the steps hold whole, which takes it half an hour.
"""
FOR_OPERATORS = {"sendCandles", "uploadCandles", "uploadMaster"}
_ID = re.compile("[0-9a-f]{24}")


@pytest.fixture
def _connection_of_the_test() -> Iterator[None]:
    """The application leaves the connection open, as under Django's own test client."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def token(alice: User, name: str) -> str:
    if name in FOR_OPERATORS:
        alice.is_staff = True
        alice.save()
    issued = tokens.issue(
        user=alice, now=timezone.now(), address="127.0.0.1", user_agent="schemathesis"
    )
    return issued.access


@pytest.fixture
def own(alice: User, name: str) -> dict[str, str]:
    """Return ids of her resources, keyed by the operation's names for them."""
    if name == "submitBacktest":
        store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
        return {"algorithmId": owned("algorithm_id", alice)}
    parts = re.findall(r"{(\w+_id)}", OPERATIONS[name])
    return {part: owned(part, alice) for part in parts}


@pytest.mark.usefixtures("_connection_of_the_test")
@pytest.mark.parametrize("name", OPERATIONS)
def test_no_call_contradicts_the_document(
    name: str, token: str, own: dict[str, str], fuzz_examples: int
) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    settled: set[Any] = set()  # any: functions of schemathesis

    def ask(case: Any) -> None:
        _put_in(case.path_parameters, own)
        _put_in(case.body, own)
        with transaction.atomic():
            answer = case.call(headers=headers)
            left_out = settled | (
                {positive_data_acceptance} if _is_foreseen(name, answer) else set()
            )
            case.validate_response(answer, headers=headers, excluded_checks=list(left_out))
            transaction.set_rollback(True)
        if answer.status_code < 300:
            settled.add(ignored_auth)  # it calls twice more, and one proof is enough

    for result in get_all_tests(
        schema=_only(name), test_func=ask, settings=_settings(fuzz_examples), given_kwargs=None
    ):
        assert isinstance(result, Ok), result
        _, run = result.ok()
        run()


def _only(name: str) -> Any:
    """Return the document, reduced to one operation."""
    config = {
        "checks": {
            "positive_data_acceptance": {"expected-statuses": FOUND_OUT_LATER},
            # Its own list lacks 412: an ETag is compared before a body is judged.
            "negative_data_rejection": {"expected-statuses": ["4xx"]},
        },
        "phases": {
            "coverage": {"enabled": name not in FUZZED_ONLY},
            "examples": {"enabled": name not in FUZZED_ONLY},
        },
    }
    made = schemathesis.openapi.from_wsgi(
        "/openapi.json", get_wsgi_application(), config=SchemathesisConfig.from_dict(config)
    )
    return made.include(operation_id=name)


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def _put_in(values: object, own: dict[str, str]) -> None:
    """Replace well-formed ids by existing ones; random ids would never exist."""
    if isinstance(values, dict):
        known = own.keys() & {name for name, value in values.items() if _ID.fullmatch(str(value))}
        values.update((name, own[name]) for name in known)


def _is_foreseen(name: str, answer: Any) -> bool:
    """Return whether no schema can express any of its faults."""
    status, rules = BEYOND_A_SCHEMA.get(name, (400, ANY_VALUE))
    if answer.status_code not in (status, 400):
        return False
    error = answer.json()["error"]
    faults = error.get("details", {}).get("errors", [error])
    return all(re.search(f"{rules}|{ANY_VALUE}", fault["message"]) for fault in faults)
