"""GET /api/trading/algorithms/<id>"""

from typing import Any

import pytest

from apps.accounts.models import User
from apps.algorithms import services
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/trading/algorithms/"
UNKNOWN = "0123456789abcdef01234567"


def test_the_owner_reads_the_created_algorithm(api: Api, alice: User) -> None:
    client = api(alice)
    created = client.post(PATH[:-1], make.steps()).json()
    response = client.get(PATH + created["id"])
    assert response.status_code == 200
    answer_of_the_save: dict[str, list[Any]] = {"missingFields": [], "errors": [], "warnings": []}
    assert response.json() | answer_of_the_save == created


def test_foreign_and_unknown_algorithms_get_the_same_answer(
    api: Api, alice: User, bob: User
) -> None:
    algorithm = make.algorithm(alice)
    foreign = assert_error(api(bob).get(PATH + algorithm.pk), 404, "ALGORITHM_NOT_FOUND")
    unknown = assert_error(api(bob).get(PATH + UNKNOWN), 404, "ALGORITHM_NOT_FOUND")
    assert foreign["details"] == {"algorithmId": algorithm.pk}
    assert foreign["message"].replace(algorithm.pk, UNKNOWN) == unknown["message"]


def test_an_archived_algorithm_is_not_found(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice)
    services.archive(owner=alice, algorithm_id=algorithm.pk, now=make.NOW)
    response = api(alice).get(PATH + algorithm.pk)
    assert_error(response, 404, "ALGORITHM_NOT_FOUND", algorithmId=algorithm.pk)


@pytest.mark.parametrize(
    "text", ["x", "1", "a" * 23, "a" * 25, "g" * 24, "A" * 24, "0" * 24, "9" * 200, "%00", "%ff"]
)
def test_a_malformed_id_is_not_found(api: Api, alice: User, text: str) -> None:
    assert_error(api(alice).get(PATH + text), 404, "ALGORITHM_NOT_FOUND")


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_every_verb_says_the_same_to_a_stranger(
    api: Api, alice: User, bob: User, method: str
) -> None:
    algorithm = make.algorithm(alice)
    response = getattr(api(bob), method)(PATH + algorithm.pk, {})
    assert_error(response, 404, "ALGORITHM_NOT_FOUND", algorithmId=algorithm.pk)


def test_an_address_with_a_trailing_slash_is_not_found(api: Api, alice: User) -> None:
    assert_error(api(alice).get(PATH + make.algorithm(alice).pk + "/"), 404, "NOT_FOUND")


def test_an_anonymous_caller_is_refused(api: Api, alice: User) -> None:
    assert_error(api().get(PATH + make.algorithm(alice).pk), 401, "UNAUTHORIZED")
