"""Every status with everything a client can request for an algorithm, over HTTP: one table
decides.
"""

from typing import Any, Final

import pytest

from apps.accounts.models import User
from apps.algorithms.lifecycle import AlgorithmStatus
from apps.algorithms.models import Algorithm
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.trading.algorithm_states import algorithm_in

# Rows: the status. Columns: the request, with the status afterwards, or the refusal.
TABLE: Final = """
          update  delete   start     stop     pause    resume   clone   validate
draft     draft   archived unready   from_a   from_a   from_p   draft   draft
active    busy    busy     already   stopped  paused   from_p   active  active
paused    busy    busy     unready   stopped  from_a   active   paused  paused
stopped   stopped archived active    from_a   from_a   from_p   stopped stopped
error     error   archived active    stopped  from_a   from_p   error   error
archived  gone    gone     gone      gone     gone     gone     gone    gone
"""
TRIGGERS, *ROWS = [line.split() for line in TABLE.strip().splitlines()]
CELLS: Final = [
    (status, trigger, outcome)
    for status, *outcomes in ROWS
    for trigger, outcome in zip(TRIGGERS, outcomes, strict=True)
]
ANSWERS: Final = {"delete": 204, "clone": 201}
REFUSALS: Final[dict[str, tuple[int, str]]] = {
    "busy": (403, "FORBIDDEN"),
    "already": (422, "ALGORITHM_ALREADY_ACTIVE"),
    "unready": (422, "UNPROCESSABLE_ENTITY"),
    "from_a": (422, "UNPROCESSABLE_ENTITY"),
    "from_p": (422, "UNPROCESSABLE_ENTITY"),
    "gone": (404, "ALGORITHM_NOT_FOUND"),
}
STEPS: Final = [
    "basicInfo",
    "positionSizing",
    "entryConditions",
    "exitConditions",
    "riskParameters",
    "executionSettings",
]


def details_of(outcome: str, algorithm_id: str, status: str) -> Any:
    missing = {"missingFields": STEPS if status == "draft" else []}
    status_details = {"algorithmId": algorithm_id, "currentStatus": status}
    return {
        "busy": {"algorithmId": algorithm_id, "status": status},
        "already": status_details,
        "unready": {**status_details, "requiredStatus": "stopped", **missing},
        "from_a": {**status_details, "requiredStatus": "active"},
        "from_p": {**status_details, "requiredStatus": "paused"},
        "gone": {"algorithmId": algorithm_id},
    }[outcome]


def ask(api: Api, owner: User, algorithm_id: str, trigger: str) -> Any:
    path = f"/api/trading/algorithms/{algorithm_id}"
    if trigger == "update":
        return api(owner).patch(path, {"description": "changed"})
    return api(owner).delete(path) if trigger == "delete" else api(owner).post(f"{path}/{trigger}")


def test_the_table_is_whole() -> None:
    assert len(CELLS) == 48
    assert {status for status, *_ in CELLS} == set(AlgorithmStatus)


@pytest.mark.parametrize(("status", "trigger", "outcome"), CELLS)
def test_every_request_follows_the_table(
    api: Api, alice: User, status: str, trigger: str, outcome: str
) -> None:
    algorithm = algorithm_in(alice, status)
    changes = algorithm.status_changes.count()
    response = ask(api, alice, algorithm.pk, trigger)
    if outcome in REFUSALS:
        error = assert_error(response, *REFUSALS[outcome])
        assert error["details"] == details_of(outcome, algorithm.pk, status)
    else:
        assert response.status_code == ANSWERS.get(trigger, 200)
    expected = status if outcome in REFUSALS else outcome
    stored = Algorithm.objects.get(pk=algorithm.pk)
    assert (stored.status, stored.active) == (expected, expected == "active")
    assert algorithm.status_changes.count() == changes + (expected != status)
