"""Times in the admin's pages: sortable, in UTC, to the second."""

from typing import Final

DATETIME_FORMAT: Final = "Y-m-d H:i:s"
DATE_FORMAT: Final = "Y-m-d"
