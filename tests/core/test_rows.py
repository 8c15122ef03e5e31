"""Rows read by prepared statements."""

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.core.database.rows import columns_of, instance_of
from tests import make


@pytest.mark.django_db
def test_an_instance_equals_the_one_of_the_orm(alice: User) -> None:
    """An algorithm has fields of every kind, including generated ones."""
    key = make.algorithm(alice, **make.steps()).pk
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns_of(Algorithm, 'a')} FROM {Algorithm._meta.db_table} AS a"
            " WHERE id = %s",
            [key],
        )
        algorithm = instance_of(Algorithm, cursor.fetchone())
    expected = Algorithm.objects.get(pk=key)
    for field in Algorithm._meta.concrete_fields:
        values = [getattr(row, field.attname) for row in (algorithm, expected)]
        assert values[0] == values[1], field.name
