"""Operators look at algorithms."""

from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from tests import make


def admin_client() -> Client:
    client = Client()
    client.force_login(
        User.objects.create_superuser(email="root@example.com", name="Root", password="x" * 12)
    )
    return client


def test_an_algorithm_is_shown_and_cannot_be_changed(alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    client = admin_client()
    assert client.get(reverse("admin:algorithms_algorithm_changelist")).status_code == 200
    address = reverse("admin:algorithms_algorithm_change", args=[algorithm.pk])
    assert client.get(address).status_code == 200
    assert client.post(address, {"name": "Other"}).status_code == 403


def test_the_versions_of_an_algorithm_are_shown_and_cannot_be_changed(alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    make.algorithm(alice)
    client = admin_client()
    page = client.get(reverse("admin:algorithms_algorithm_change", args=[algorithm.pk]))
    address = f"{reverse('admin:algorithms_version_changelist')}?algorithm__id={algorithm.pk}"
    assert f'href="{address}"' in page.text
    listed = client.get(address).text
    assert listed.count(algorithm.name) == 1
    assert listed.count(alice.email) == 1
    version = reverse("admin:algorithms_version_change", args=[algorithm.versions.get().pk])
    assert "crosses_above" in client.get(version).text
    assert client.post(version, {"number": 5}).status_code == 403


def test_the_history_of_an_algorithm_is_shown_and_cannot_be_changed(alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    make.algorithm(alice)
    client = admin_client()
    page = client.get(reverse("admin:algorithms_algorithm_change", args=[algorithm.pk]))
    address = f"{reverse('admin:algorithms_statuschange_changelist')}?algorithm__id={algorithm.pk}"
    assert f'href="{address}"' in page.text
    listed = client.get(address).text
    assert listed.count(algorithm.name) == 1
    assert listed.count(alice.email) == 1
    change = algorithm.status_changes.get()
    row = reverse("admin:algorithms_statuschange_change", args=[change.pk])
    assert "created" in client.get(row).text
    assert client.post(row, {"reason": "other"}).status_code == 403
