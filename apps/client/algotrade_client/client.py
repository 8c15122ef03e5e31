"""The client: all calls of a service, with one key."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Self

from .alerts import Alerts
from .algorithms import Algorithms
from .backtests import Backtests
from .keys import saved_login
from .market import Market
from .records import Event
from .runs import Runs
from .transport import Transport
from .webhooks import Webhooks


class Client:
    """A service and an API key for it. `patience` is how many seconds a call may repeat itself."""

    def __init__(self, url: str, key: str, **options: Any) -> None:
        self._transport = Transport(url, key, **options)
        self.algorithms = Algorithms(self._transport)
        self.backtests = Backtests(self._transport)
        self.runs = Runs(self._transport)
        self.market = Market(self._transport)
        self.webhooks = Webhooks(self._transport)
        self.alerts = Alerts(self._transport)

    @classmethod
    def saved(cls, **options: Any) -> Self:
        """Return a client with the key of `algotrade login`. Raises NotLoggedIn."""
        login = saved_login()
        return cls(login.url, login.key, **options)

    def __repr__(self) -> str:
        return f"Client({self._transport.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    def call(self, method: str, path: str, body: object = None, **options: Any) -> Any:
        """Return the JSON of any call of the service: a call that has no method here."""
        return self._transport.call(method, path, body, **options)

    def events(self, *, symbols: Sequence[str] = (), last: int | None = None) -> Iterator[Event]:
        """Yield events as they happen, and hints of new bars of `symbols`.

        The stream begins now, or after the position `last`. It never ends, and a lost connection
        loses no event.
        """
        query = {"symbols": ",".join(symbols) or None}
        for message in self._transport.events(query, last):
            yield Event(message.position, message.type, json.loads(message.data))
