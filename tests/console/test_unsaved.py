"""Unsaved changes of the steps: kept while a trader types, shown on return, saved or dropped."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm, UnsavedSteps
from apps.algorithms.serializers import AlgorithmBodySerializer
from apps.algorithms.unsaved_steps import MOST_CHARACTERS
from apps.core import database
from tests import make
from tests.console.conftest import Browse
from tests.console.test_schema_forms import sent_by

pytestmark = pytest.mark.django_db
FIELD = "positionSizing.riskPercentage"


@pytest.fixture
def algorithm(alice: User) -> Algorithm:
    return make.algorithm(alice, **make.steps())


def address_of(algorithm: Algorithm) -> str:
    return f"/app/algorithms/{algorithm.pk}/steps"


class Tab:
    """An opened form of the steps."""

    def __init__(self, client: Client, algorithm: Algorithm) -> None:
        self._client, self._address = client, address_of(algorithm)
        response = client.get(self._address)
        self.page, state = response.content.decode(), response.context["unsaved"]
        self._form = sent_by(algorithm.configuration)
        self._hidden = {"editor": state.editor, "after": state.after, "version": state.version}

    def send(self, change: str, risk: str) -> str:
        form = {**self._form, FIELD: risk, **self._hidden, "change": change}
        response = self._client.post(self._address, form, headers={"HX-Request": "true"})
        if response.status_code == 200:
            state = response.context["unsaved"]
            self._hidden |= {"after": state.after, "version": state.version}
        return response.get("HX-Redirect") or response.content.decode()


def test_typed_steps_are_shown_on_return_until_saved(
    browse: Browse, alice: User, algorithm: Algorithm
) -> None:
    Tab(browse(alice), algorithm).send("typing", "0.75")
    client = browse(alice)
    page = client.get(address_of(algorithm).removesuffix("/steps")).content.decode()
    assert f'<a href="{address_of(algorithm)}">Continue</a>' in page
    tab = Tab(client, algorithm)
    assert f'name="{FIELD}" value="0.75"' in tab.page
    assert "Unsaved changes of" in tab.page
    assert 'value="keep">Keep' not in tab.send("keep", "0.75")
    assert tab.send("save", "0.75").endswith(algorithm.pk)
    algorithm.refresh_from_db()
    assert (algorithm.position_sizing["riskPercentage"], algorithm.version) == (0.75, 2)
    assert not UnsavedSteps.objects.exists()
    assert "Unsaved changes of" not in Tab(client, algorithm).page


def test_dropped_changes_are_gone(browse: Browse, alice: User, algorithm: Algorithm) -> None:
    client = browse(alice)
    tab = Tab(client, algorithm)
    tab.send("typing", "not a number\0")
    assert f'name="{FIELD}" value="not a number"' in Tab(client, algorithm).page
    assert tab.send("drop", "not a number") == address_of(algorithm)
    assert f'name="{FIELD}" value="0.5"' in Tab(client, algorithm).page


def test_changes_back_to_the_saved_steps_are_no_changes(
    browse: Browse, alice: User, algorithm: Algorithm
) -> None:
    tab = Tab(browse(alice), algorithm)
    assert "Unsaved changes of" in tab.send("typing", "0.75")
    assert "Unsaved changes of" not in tab.send("typing", "0.5")
    assert not UnsavedSteps.objects.exists()


def test_the_newer_of_two_tabs_counts_and_says_so(
    browse: Browse, alice: User, algorithm: Algorithm
) -> None:
    client, warning = browse(alice), "Another tab or device changed these steps"
    first, second = Tab(client, algorithm), Tab(client, algorithm)
    assert warning not in first.send("typing", "0.6")
    assert warning in second.send("typing", "0.7")
    assert warning not in second.send("typing", "0.8")
    assert warning in first.send("typing", "0.9")
    third = Tab(client, algorithm)  # opened with the changes, so it replaces nothing unseen
    assert warning not in third.send("typing", "1")
    assert UnsavedSteps.objects.get().configuration["positionSizing"]["riskPercentage"] == 1


def test_a_version_saved_meanwhile_is_replaced_only_by_a_second_save(
    browse: Browse, alice: User, algorithm: Algorithm
) -> None:
    tab = Tab(browse(alice), algorithm)
    saved = {"risk_parameters": {"maxPositionSize": 400_000}}
    services.update(owner=alice, algorithm_id=algorithm.pk, changes=saved, now=make.NOW)  # type: ignore[arg-type]
    assert "Version 2 was saved after you began" in tab.send("typing", "0.75")
    assert "Save again to replace it" in tab.send("save", "0.75")
    algorithm.refresh_from_db()
    assert algorithm.version == 2
    assert tab.send("save", "0.75").endswith(algorithm.pk)
    algorithm.refresh_from_db()
    assert algorithm.version == 3


def test_unsaved_steps_are_limited_in_size_and_age(
    browse: Browse, alice: User, algorithm: Algorithm
) -> None:
    tab = Tab(browse(alice), algorithm)
    assert "too long to be kept" in tab.send("typing", "7" * MOST_CHARACTERS)
    assert not UnsavedSteps.objects.exists()
    tab.send("typing", "0.75")
    changed_at = UnsavedSteps.objects.get().changed_at
    assert services.purge(now=changed_at + timedelta(days=30)) == 0
    assert services.purge(now=changed_at + timedelta(days=30, seconds=1)) == 1


def test_nobody_else_sees_them(
    browse: Browse, alice: User, bob: User, algorithm: Algorithm
) -> None:
    Tab(browse(alice), algorithm).send("typing", "0.75")
    stranger = browse(bob)
    assert stranger.get(address_of(algorithm)).status_code == 404
    assert stranger.post(address_of(algorithm), {"change": "drop"}).status_code == 404
    assert UnsavedSteps.objects.count() == 1


def test_a_save_at_the_same_moment_is_not_overwritten(
    browse: Browse, alice: User, algorithm: Algorithm, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab = Tab(browse(alice), algorithm)
    keep = services.keep_unsaved_steps

    def keep_after_another(*arguments: Any, **options: Any) -> UnsavedSteps | None:
        sizing = {"method": "risk_based", "riskPercentage": 2}
        changes = AlgorithmBodySerializer.read({"positionSizing": sizing})
        now = database.now()
        services.update(owner=alice, algorithm_id=algorithm.pk, changes=changes, now=now)
        return keep(*arguments, **options)

    monkeypatch.setattr(services, "keep_unsaved_steps", keep_after_another)
    tab.send("save", "0.75")
    algorithm.refresh_from_db()
    assert algorithm.position_sizing["riskPercentage"] == 2
    assert UnsavedSteps.objects.get().configuration["positionSizing"]["riskPercentage"] == 0.75
