"""Who opens the admin's pages."""

import pytest
from django.test import Client

from apps.accounts.models import User
from tests import make


def an_operator() -> User:
    user = make.user("olga")
    user.is_staff = True
    user.save(update_fields=["is_staff"])
    return user


def browser_of(user: User) -> Client:
    """Signed in."""
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def olga(db: None) -> User:
    return an_operator()


@pytest.fixture
def operator(olga: User) -> Client:
    return browser_of(olga)
