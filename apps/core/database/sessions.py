"""Sessions of browsers, as Django keeps them in the database."""

from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import UpdateError

from apps.core.database.failures import meaning_of


class SessionStore(db.SessionStore):
    """Distinguish a lost database from a lost session.

    Django takes both for a lost session, and answers 400.
    """

    def save(self, must_create: bool = False) -> None:
        """Raises UpdateError if the session was deleted, and database errors."""
        try:
            super().save(must_create)
        except UpdateError as error:
            cause = error.__context__
            if cause is not None and meaning_of(cause) is not None:
                raise cause from cause.__cause__
            raise
