"""Times in the admin's pages: sortable, in Indian time, to the second."""

from typing import Final

DATETIME_FORMAT: Final = "Y-m-d H:i:s T"
DATE_FORMAT: Final = "Y-m-d"
