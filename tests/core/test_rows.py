"""Rows that are read by statements written once."""

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
