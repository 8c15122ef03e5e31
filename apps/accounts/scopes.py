"""What a personal API key may do, by the verb and the address of a call."""

from collections.abc import Collection
from enum import StrEnum
from typing import Final

from apps.core.errors import Code, ServiceError


class Scope(StrEnum):
    READ = "read"
    """Every call that changes nothing."""
    TRADE = "trade"
    """Every other call that has no scope of its own: algorithms, webhooks, market data."""
    BACKTEST = "backtest"
    """To submit, rename, cancel, share and delete backtests."""


_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_QUESTIONS: Final = frozenset({"/api/symbols/validate"})
"""Calls that change nothing and are a POST for the sake of their body."""
_ACCOUNT: Final = "/api/auth"
_BACKTESTS: Final = "/api/backtests"


class ScopeMissing(ServiceError):
    code = Code.FORBIDDEN
    message = "This API key lacks the scope that the call needs: {requiredScope}."


def takes_keys(path: str) -> bool:
    """An account is its owner's business: no program changes its password or makes more keys."""
    return not _is_under(path, _ACCOUNT)


def check(held: Collection[str], *, method: str, path: str) -> None:
    """Raises ScopeMissing; no scope holds another."""
    needed = _needed(method, path)
    if needed not in held:
        raise ScopeMissing(requiredScope=needed.value)


def _needed(method: str, path: str) -> Scope:
    if method in _SAFE or path in _QUESTIONS:
        return Scope.READ
    return Scope.BACKTEST if _is_under(path, _BACKTESTS) else Scope.TRADE


def _is_under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")
