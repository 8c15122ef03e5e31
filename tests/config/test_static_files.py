"""The admin's style sheets and scripts come from the service itself."""

import pytest
from django.test import Client


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/static/admin/css/base.css", "text/css"), ("/static/admin/js/core.js", "text/javascript")],
)
def test_the_admins_files_are_served(path: str, kind: str) -> None:
    response = Client().get(path)
    assert response.status_code == 200
    assert response["Content-Type"].startswith(kind)
    assert response.getvalue()


def test_only_static_files_are_served() -> None:
    assert Client().get("/static/../config/settings.py").status_code == 404
