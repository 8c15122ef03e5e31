"""ETag and If-Match of /api/trading/algorithms/<id>"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.lifecycle import AlgorithmTransition
from apps.algorithms.models import Algorithm
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/trading/algorithms/"
WRITES = pytest.mark.parametrize("verb", ["put", "patch", "delete"])


def send(client: APIClient, verb: str, algorithm: Algorithm, *, if_match: str | None) -> Any:
    headers = {} if if_match is None else {"If-Match": if_match}
    return getattr(client, verb)(PATH + algorithm.pk, {"name": "New"}, headers=headers)


def test_every_response_with_the_algorithm_carries_its_tag(api: Api, alice: User) -> None:
    client = api(alice)
    created = client.post(PATH[:-1], make.steps())
    path = PATH + created.json()["id"]
    tags = [created["ETag"]]
    bodies: tuple[dict[str, Any], ...] = ({"name": "New"}, {"basicInfo": {}}, {})
    for body in bodies:
        tags.append(client.put(path, body)["ETag"])
        assert client.get(path)["ETag"] == tags[-1]
    assert tags == ['"1"', '"2"', '"3"', '"4"']
    assert client.post(f"{path}/clone")["ETag"] == '"1"'


def test_reading_changes_no_tag_and_a_move_does(api: Api, alice: User) -> None:
    client, algorithm = api(alice), make.algorithm(alice, **make.steps())
    path = PATH + algorithm.pk
    before = client.get(path)["ETag"]
    client.post(f"{path}/validate")
    assert client.get(path)["ETag"] == before
    services.change_status(
        algorithm=algorithm,
        transition=AlgorithmTransition.START,
        actor=alice,
        reason="started",
        now=make.NOW,
    )
    assert client.get(path)["ETag"] != before


@WRITES
@pytest.mark.parametrize("if_match", [None, '"1"', "*", '"7", "1"', 'W/"1"', 'W/"7", "1"'])
def test_a_write_with_the_current_tag_succeeds(
    api: Api, alice: User, verb: str, if_match: str | None
) -> None:
    response = send(api(alice), verb, make.algorithm(alice), if_match=if_match)
    assert response.status_code == (204 if verb == "delete" else 200)


@WRITES
@pytest.mark.parametrize("if_match", ['"2"', 'W/"2"', "1", "", '"2", "3"', "garbage", '"*"'])
def test_a_write_with_another_tag_fails(api: Api, alice: User, verb: str, if_match: str) -> None:
    algorithm = make.algorithm(alice, name="Old")
    response = send(api(alice), verb, algorithm, if_match=if_match)
    assert_error(response, 412, "CONFLICT", currentETag='"1"', reason="precondition_failed")
    stored = Algorithm.objects.get()
    assert (stored.name, stored.status, stored.rev) == ("Old", "draft", 1)


def test_the_tag_in_a_refusal_is_accepted(api: Api, alice: User) -> None:
    client, algorithm = api(alice), make.algorithm(alice)
    send(client, "put", algorithm, if_match=None)
    refused = send(client, "put", algorithm, if_match='"1"').json()
    current = refused["error"]["details"]["currentETag"]
    assert send(client, "put", algorithm, if_match=current).status_code == 200


@pytest.mark.parametrize("verb", ["get", "head"])
@pytest.mark.parametrize("tag", ['"1"', 'W/"1"', '"9", "1"', "*"])
def test_a_client_with_the_current_state_gets_a_304(
    api: Api, alice: User, verb: str, tag: str
) -> None:
    client, algorithm = api(alice), make.algorithm(alice)
    response = getattr(client, verb)(PATH + algorithm.pk, headers={"If-None-Match": tag})
    assert (response.status_code, response.content) == (304, b"")
    assert response["ETag"] == '"1"'
    assert response["Cache-Control"] == "no-store"
    assert response["X-Request-ID"]
    client.patch(PATH + algorithm.pk, {"name": "New"})
    if tag != "*":
        changed = getattr(client, verb)(PATH + algorithm.pk, headers={"If-None-Match": tag})
        assert (changed.status_code, changed["ETag"]) == (200, '"2"')


@WRITES
def test_without_the_header_the_last_write_wins(api: Api, alice: User, verb: str) -> None:
    client, algorithm = api(alice), make.algorithm(alice)
    client.patch(PATH + algorithm.pk, {"name": "First"})
    assert send(client, verb, algorithm, if_match=None).status_code in (200, 204)


@WRITES
def test_a_missing_or_running_algorithm_is_refused_for_that_reason(
    api: Api, alice: User, bob: User, verb: str
) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    response = send(api(bob), verb, algorithm, if_match='"9"')
    assert_error(response, 404, "ALGORITHM_NOT_FOUND", algorithmId=algorithm.pk)
    Algorithm.objects.filter(pk=algorithm.pk).update(status="paused")
    response = send(api(alice), verb, algorithm, if_match='"9"')
    assert_error(response, 403, "FORBIDDEN", status="paused")


@pytest.mark.django_db(transaction=True)
def test_of_twenty_writers_with_the_same_tag_one_succeeds(api: Api) -> None:
    owner = make.user()
    algorithm = make.algorithm(owner, **make.steps())
    clients = [api(owner) for _ in range(20)]
    quantities = range(1, 21)

    def put(client: APIClient, quantity: int) -> Any:
        sizing = {"positionSizing": {"method": "fixed_quantity", "quantity": quantity}}
        try:
            return client.put(PATH + algorithm.pk, sizing, headers={"If-Match": '"1"'})
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(put, clients, quantities))
    [written] = [answer for answer in answers if answer.status_code == 200]
    refused = [answer for answer in answers if answer is not written]
    for answer in refused:
        assert_error(answer, 412, "CONFLICT", currentETag='"2"')
    assert written["ETag"] == '"2"'
    algorithm.refresh_from_db()
    assert (algorithm.rev, algorithm.version) == (2, 2)
    assert algorithm.position_sizing == written.json()["positionSizing"]
    assert len(refused) == 19
