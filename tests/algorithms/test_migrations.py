"""Moving a database that holds algorithms from one release to the next, and back."""

from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tests import make

pytestmark = pytest.mark.slow


def migrate(name: str) -> Any:
    """The models as they stand after this migration."""
    connection.check_constraints()  # PostgreSQL alters no table that has checks to come
    target = [("algorithms", name)]
    return MigrationExecutor(connection).migrate(target).apps


@pytest.mark.django_db
def test_each_algorithm_keeps_the_configuration_it_has_when_versions_begin() -> None:
    owner, changed = make.user(), make.NOW.replace(hour=9)
    old = migrate("0001_initial").get_model("algorithms", "Algorithm")
    common = {"owner_id": owner.pk, "created_at": make.NOW, "updated_at": changed}
    draft = old.objects.create(**common)
    columns = {
        "basic_info": {"timeframe": "5m"},
        "position_sizing": {"method": "risk_based", "riskPercentage": 1.5},
        "entry_conditions": {"conditions": []},
        "exit_conditions": {"maxHoldingCandles": 3},
        "risk_parameters": {"maxDailyLoss": 1},
        "execution_settings": {"mode": "paper"},
    }
    archived = old.objects.create(**common, **columns, version=7, status="archived")

    versions = migrate("0002_version").get_model("algorithms", "Version").objects
    wire = (
        "basicInfo", "positionSizing", "entryConditions", "exitConditions", "riskParameters",
        "executionSettings",
    )  # fmt: skip
    rows = {row.algorithm_id: row for row in versions.all()}
    assert len(rows) == versions.count() == 2
    assert (rows[draft.pk].number, rows[archived.pk].number) == (1, 7)
    assert rows[draft.pk].configuration == {name: {} for name in wire}
    assert rows[archived.pk].configuration == dict(zip(wire, columns.values(), strict=True))
    assert {row.created_at for row in rows.values()} == {changed}


@pytest.mark.django_db
def test_versions_can_be_taken_back_and_begun_again() -> None:
    algorithm = make.algorithm(make.user(), **make.steps())
    before = migrate("0001_initial").get_model("algorithms", "Algorithm")
    assert "algorithms_version" not in connection.introspection.table_names()
    assert before.objects.get().pk == algorithm.pk
    migrate("0002_version")
    version = algorithm.versions.get()
    assert (version.number, version.configuration) == (1, make.steps())


@pytest.mark.django_db
def test_the_history_of_each_algorithm_begins_where_it_stands() -> None:
    owner, changed = make.user(), make.NOW.replace(hour=9)
    old = migrate("0002_version").get_model("algorithms", "Algorithm")
    common = {"owner_id": owner.pk, "created_at": make.NOW, "updated_at": changed}
    stands = {
        old.objects.create(**common, status=status, active=status == "active").pk: status
        for status in ("draft", "active", "archived")
    }
    new = migrate("0003_history_and_alerts")
    rows = new.get_model("algorithms", "StatusChange").objects.all()
    assert {row.algorithm_id: row.after for row in rows} == stands
    assert len(rows) == len(stands)
    assert {(row.before, row.actor, row.at) for row in rows} == {(None, "system", changed)}
    made = new.get_model("algorithms", "Algorithm").objects.all()
    assert [(row.alerts, row.performance_at) for row in made] == [({}, None)] * 3


@pytest.mark.django_db
def test_the_history_can_be_taken_back_and_begun_again() -> None:
    algorithm = make.algorithm(make.user(), **make.steps())
    migrate("0002_version")
    assert "algorithms_statuschange" not in connection.introspection.table_names()
    migrate("0003_history_and_alerts")
    assert [change.after for change in algorithm.status_changes.all()] == ["stopped"]
