"""A browser without JavaScript: it keeps cookies, and posts forms with their token."""

from collections.abc import Callable

import pytest
from django.test import Client

from apps.accounts.models import User
from tests import make

Browse = Callable[[User], Client]


@pytest.fixture
def browse(db: None) -> Browse:
    def signed_in(user: User) -> Client:
        client = Client(raise_request_exception=False)
        form = {"email": user.email, "password": make.PASSWORD}
        answer = client.post("/app/sign-in", form)
        assert answer.status_code == 302, answer.content
        return client

    return signed_in
