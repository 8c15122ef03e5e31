"""The algorithms that read alerts of other programs."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from apps.accounts.models import User
from apps.algorithms.models import Algorithm


@dataclass(frozen=True, slots=True)
class AlertReader:
    """An algorithm whose conditions read alerts of these names, for these symbols."""

    algorithm: Algorithm
    names: frozenset[str]
    symbols: Collection[str]

    def reads(self, name: str, symbol: str) -> bool:
        """Return whether it reads an alert; one without a symbol is for every symbol."""
        return name in self.names and (not symbol or symbol in self.symbols)


def alert_readers(*, owner: User) -> list[AlertReader]:
    """Return the owner's algorithms that read alerts, drafts included, by name."""
    readers = []
    for algorithm in Algorithm.objects.owned_by(owner).order_by("name", "pk"):
        names = frozenset(_names_in(algorithm.configuration))
        if names:
            symbols = algorithm.basic_info.get("symbols", ())
            readers.append(AlertReader(algorithm, names, symbols))
    return readers


def _names_in(part: object) -> Iterator[str]:
    """Yield the names of alerts in steps, which may be incomplete."""
    if isinstance(part, dict):
        if part.get("type") == "signal" and "name" in part:
            yield part["name"]
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from _names_in(inner)
