"""Finding instruments by what people type: a code, a name, the exchange's own name, an ISIN.

Better matches come first: exact ones, then codes that begin so, names that begin so, contracts that
begin so, and at last, from three letters on, codes and names that hold the letters anywhere.
`%` and `_` mean themselves.
"""

from collections.abc import Iterator
from typing import Final

from django.db.models import Q, QuerySet

from apps.symbols.models import CASH, DERIVATIVE, Instrument

SHORTEST_WITHIN: Final = 3
# What exchanges write in names but a code cannot hold: M&M is MM, BAJAJ-AUTO is BAJAJAUTO.
_LEFT_OUT: Final = str.maketrans("", "", "&- ")


def search(among: QuerySet[Instrument], *, query: str, limit: int) -> list[Instrument]:
    """At most `limit` of `among`, the best first."""
    found: list[Instrument] = []
    for condition in _conditions(query.strip().upper()):
        rest = among.filter(condition).exclude(pk__in=[row.pk for row in found])
        found += rest.order_by("code", "exchange")[: limit - len(found)]
        if len(found) == limit:
            break
    return found


def _conditions(wanted: str) -> Iterator[Q]:
    code = wanted.translate(_LEFT_OUT)
    column = "symbol" if ":" in wanted else "code"
    yield CASH & (Q((column, code)) | Q(isin=wanted) | Q(exchange_name__iexact=wanted))
    if code:
        yield CASH & Q((f"{column}__startswith", code))
    yield CASH & (Q(name__istartswith=wanted) | Q(exchange_name__istartswith=wanted))
    if code:
        yield DERIVATIVE & Q((f"{column}__startswith", code))
    if len(wanted) >= SHORTEST_WITHIN:
        yield CASH & (Q(name__icontains=wanted) | Q(code__contains=wanted))
