"""Browsers that open the admin's pages."""

import pytest
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from tests import make


def an_operator() -> User:
    user = make.user("olga")
    user.is_staff = True
    user.save(update_fields=["is_staff"])
    return user


def browser_of(user: User) -> Client:
    """Return a signed-in browser."""
    client = Client()
    client.force_login(user)
    return client


def act(client: Client, action: str, row: Model, reason: str) -> str:
    """Choose a row of its list and an action; return the page with the result."""
    meta = row._meta
    data = {"action": action, "_selected_action": row.pk, "reason": reason}
    address = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    return client.post(address, data, follow=True).text


@pytest.fixture
def olga(db: None) -> User:
    return an_operator()


@pytest.fixture
def operator(olga: User) -> Client:
    return browser_of(olga)
