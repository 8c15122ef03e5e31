"""Who opens the admin's pages."""

import pytest
from django.test import Client

from apps.accounts.models import User
from tests import make


@pytest.fixture
def olga(db: None) -> User:
    user = make.user("olga")
    user.is_staff = True
    user.save(update_fields=["is_staff"])
    return user


@pytest.fixture
def operator(olga: User) -> Client:
    """Olga's browser, signed in."""
    client = Client()
    client.force_login(olga)
    return client
