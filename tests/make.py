"""Plain builders of what a test needs, by the services themselves."""

from datetime import UTC, datetime

from apps.accounts.models import User

NOW = datetime(2026, 11, 2, 4, 0, tzinfo=UTC)
PASSWORD = "correct horse battery"


def user(name: str = "alice") -> User:
    return User.objects.create_user(
        email=f"{name}@example.com", password=PASSWORD, name=name.title(), now=NOW
    )
