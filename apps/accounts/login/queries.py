"""The SQL that every request with a token runs, written once (`apps.core.database.rows`)."""

from typing import Final

from django.db import connection

from apps.accounts.models import LoginSession, User
from apps.core.database import columns_of, instance_of

_SESSION_WITH_USER: Final = f"""
    SELECT {columns_of(LoginSession, "session")}, {columns_of(User, "owner")}
    FROM {LoginSession._meta.db_table} AS session
    JOIN {User._meta.db_table} AS owner ON owner.id = session.user_id
    WHERE session.id = %s
"""


def session_with_user(session_id: str) -> LoginSession | None:
    """Return `LoginSession.objects.select_related("user").filter(pk=session_id).first()`."""
    with connection.cursor() as cursor:
        cursor.execute(_SESSION_WITH_USER, [session_id])
        row = cursor.fetchone()
    if row is None:
        return None
    count = len(LoginSession._meta.concrete_fields)
    session = instance_of(LoginSession, row[:count])
    session.user = instance_of(User, row[count:])
    return session
