"""Sessions of browsers, as Django keeps them in the database."""

from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import UpdateError

from apps.core.database.failures import meaning_of


class SessionStore(db.SessionStore):
    """Tells a database that is lost from a session that is: Django takes both for the latter, and
    answers with a 400.
    """

    def save(self, must_create: bool = False) -> None:
        """Raises UpdateError where the session was deleted, and what the database raises."""
        try:
            super().save(must_create)
        except UpdateError as error:
            cause = error.__context__
            if cause is not None and meaning_of(cause) is not None:
                raise cause from cause.__cause__
            raise
