"""DELETE /api/trading/algorithms/<id>"""

import pytest

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/trading/algorithms/"


@pytest.mark.parametrize("status", ["draft", "stopped", "error"])
def test_a_deleted_algorithm_is_gone_for_its_owner_and_kept_in_the_database(
    api: Api, alice: User, status: str
) -> None:
    algorithm = make.algorithm(alice)
    Algorithm.objects.filter(pk=algorithm.pk).update(status=status)
    client = api(alice)
    response = client.delete(PATH + algorithm.pk)
    assert (response.status_code, response.content) == (204, b"")
    for again in (client.get, client.put, client.patch, client.delete):
        assert_error(
            again(PATH + algorithm.pk), 404, "ALGORITHM_NOT_FOUND", algorithmId=algorithm.pk
        )
    algorithm.refresh_from_db()
    assert algorithm.status == "archived"


@pytest.mark.parametrize("status", ["active", "paused"])
def test_a_running_algorithm_cannot_be_deleted(api: Api, alice: User, status: str) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    Algorithm.objects.filter(pk=algorithm.pk).update(status=status, active=status == "active")
    response = api(alice).delete(PATH + algorithm.pk)
    assert_error(response, 403, "FORBIDDEN", algorithmId=algorithm.pk, status=status)
    assert api(alice).get(PATH + algorithm.pk).json()["status"] == status


def test_the_name_of_a_deleted_algorithm_may_be_used_again(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice, name="Cross")
    api(alice).delete(PATH + algorithm.pk)
    assert api(alice).post(PATH[:-1], {"name": "Cross"}).status_code == 201
