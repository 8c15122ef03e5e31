"""Alerts of other programs: the hooks that they come to, and what came."""

from collections.abc import Iterator
from typing import Any

from .records import AlertHook, AlertHookWithAddress, AlertMessage, ReceivedAlert
from .resource import Id, Resource, id_of, to_wire

_HOOKS = "/api/trading/alert-hooks"


class Alerts(Resource):
    def list(
        self, *, name: str | None = None, symbol: str | None = None, hook: Id | None = None
    ) -> Iterator[ReceivedAlert]:
        """Yield the alerts that came, the newest first."""
        query = {"name": name, "symbol": symbol, "hookId": None if hook is None else id_of(hook)}
        return self._listed(ReceivedAlert, "/api/trading/alerts", query, is_growing=True)

    def hooks(self) -> Iterator[AlertHook]:
        return self._listed(AlertHook, _HOOKS)

    def create_hook(self, name: str, format: str, **options: Any) -> AlertHookWithAddress:
        """Make a hook. Its `url` is a secret, and is shown once.

        Options are those of the call in snake case: `networks` and `expected_by`.
        """
        body = to_wire({"name": name, "format": format, **options})
        return self._post(AlertHookWithAddress, _HOOKS, body)

    def rotate_secret(self, hook: Id) -> AlertHookWithAddress:
        """Replace the address of a hook; the previous one ends at once."""
        return self._post(AlertHookWithAddress, f"{_HOOKS}/{id_of(hook)}/rotate-secret")

    def delete_hook(self, hook: Id) -> None:
        """Delete a hook; its alerts stay."""
        self._transport.call("DELETE", f"{_HOOKS}/{id_of(hook)}")

    def messages(self, hook: Id) -> Iterator[AlertMessage]:
        """Yield what came to a hook, also what could not be read, the newest first."""
        return self._listed(AlertMessage, f"{_HOOKS}/{id_of(hook)}/messages", is_growing=True)
