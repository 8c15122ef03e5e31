"""The lines of the log: JSON, without the secrets that addresses hold."""

import re
from typing import Any, Final

from pythonjsonlogger.json import JsonFormatter

# What follows these at the beginning of a path opens something: a shared report, a link in a mail,
# an alert hook.
_SECRET_ADDRESS: Final = re.compile(r"(?<![\w-])(/+(?:reports|account|hooks)/+)[^\s'\"]+")
# A hook's secret, wherever it stands: in an address that was typed wrong, say.
_HOOK_SECRET: Final = re.compile(r"\bah_[A-Za-z0-9_-]+")


class LogFormatter(JsonFormatter):
    """Write a record as one line of JSON, with `…` in place of each secret of an address.

    Django adds the request to its records: its text has the address.
    """

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        return {
            name: value
            if value is None or isinstance(value, int | float)
            else without_secrets(str(value))
            for name, value in super().process_log_record(log_data).items()
        }


def without_secrets(text: str) -> str:
    """Return a text for the log, with `…` in place of each secret of an address."""
    return _HOOK_SECRET.sub("ah_…", _SECRET_ADDRESS.sub(r"\1…", text))
