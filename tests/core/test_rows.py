"""Rows that are read by statements written once."""

from typing import Any

import pytest

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm
from tests import make


@pytest.mark.django_db
def test_an_instance_is_as_the_orm_reads_it(alice: User) -> None:
    key = make.algorithm(alice, **make.steps()).pk
    algorithm = services.read(owner=alice, algorithm_id=key)
    expected = Algorithm.objects.get(pk=key)
    for field in Algorithm._meta.concrete_fields:
        values = [getattr(row, field.attname) for row in (algorithm, expected)]
        assert values[0] == values[1], field.name


@pytest.mark.django_db
@pytest.mark.parametrize("sort", ["-created_at", "name", "-total_profit", "profit_factor"])
@pytest.mark.parametrize(
    "wanted",
    [{}, {"statuses": ["draft", "stopped"]}, {"statuses": ["draft"], "strategy_type": "momentum"}],
)
def test_a_list_is_as_the_orm_reads_it(
    alice: User, bob: User, sort: str, wanted: dict[str, Any]
) -> None:
    for owner in (alice, bob, alice, alice):
        make.algorithm(owner)
        make.algorithm(owner, **make.steps())
    selection = services.listed(owner=alice, ordering=(sort, "-id"), **wanted)
    expected = Algorithm.objects.owned_by(alice).in_order((sort, "-id"))
    if wanted:
        expected = expected.filter(status__in=wanted["statuses"])
    if "strategy_type" in wanted:
        expected = expected.filter(strategy_type=wanted["strategy_type"])
    rows = list(expected.values(*selection.columns))
    assert selection.page(slice(1, 3)) == (rows[1:3], len(rows))
    assert selection.page(slice(50, 60)) == ([], len(rows))


@pytest.mark.django_db
def test_a_list_of_nobody_is_empty(alice: User) -> None:
    selection = services.listed(owner=alice, ordering=("-created_at", "-id"))
    assert selection.page(slice(0, 20)) == ([], 0)
