"""Finding instruments by what people type: a code, a name, an ISIN, what an exchange or a broker
calls it.

Better matches come first, in tiers: what is exactly so called; codes that begin so, names that
begin so; contracts of what is so called, the next to expire first, and contracts that begin so;
from three letters on what holds the letters anywhere, then contracts of the past; and if there is
nothing at all, what differs by a slip. `%` and `_` mean themselves.

With PostgreSQL's pg_trgm letters inside are found by an index and slips by likeness; without it
slips are one letter too many, missing, other or swapped.
"""

from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from string import ascii_uppercase, digits
from typing import Final

from django.contrib.postgres.lookups import TrigramSimilar
from django.contrib.postgres.search import TrigramSimilarity
from django.db import connection
from django.db.models import F, Q, QuerySet, Value

from apps.symbols.models import CASH, DERIVATIVE, Instrument, InstrumentAlias

SHORTEST_WITHIN: Final = 3
_MOST_WITHIN: Final = 200  # thousands of names hold LTD: to sort them all is not worth it
_SHORTEST_LIKE: Final = 4
_LONGEST_LIKE: Final = 20
_LETTERS: Final = ascii_uppercase + digits
# What exchanges write in names but a code cannot hold: M&M is MM, BAJAJ-AUTO is BAJAJAUTO.
_LEFT_OUT: Final = str.maketrans("", "", "&- ")

Tier = tuple[Q, tuple[str, ...]]
"""What belongs to it, and its order."""

_BY_CODE: Final = ("code", "exchange")
_NEXT_FIRST: Final = ("expiry", "code", "exchange")


def search(among: QuerySet[Instrument], *, query: str, today: date, limit: int) -> list[Instrument]:
    """At most `limit` of `among`, the best first; contracts that expired before `today` late."""
    wanted = query.strip().upper()
    found: list[Instrument] = []
    for condition, order in _tiers(among, wanted, today):
        rest = among.filter(condition).exclude(pk__in=[row.pk for row in found])
        found += rest.order_by(*order)[: limit - len(found)]
        if len(found) == limit:
            break
    return found or _alike(among, wanted, limit)


def _tiers(among: QuerySet[Instrument], wanted: str, today: date) -> Iterator[Tier]:
    code = wanted.translate(_LEFT_OUT)
    column = "symbol" if ":" in wanted else "code"
    exact = Q(isin=wanted) | Q(exchange_name__iexact=wanted)
    yield CASH & (Q((column, code)) | exact), _BY_CODE
    if code:
        yield CASH & Q((f"{column}__startswith", code)), _BY_CODE
    yield CASH & (Q(name__istartswith=wanted) | Q(exchange_name__istartswith=wanted)), _BY_CODE
    if len(wanted) >= SHORTEST_WITHIN:
        yield Q(pk__in=_called(wanted)), _BY_CODE
    if code:
        lives = DERIVATIVE & (Q(expiry__gte=today) | Q(expiry=None))
        yield lives & Q(underlying=code), _NEXT_FIRST
        yield lives & Q((f"{column}__startswith", code)), _BY_CODE
    if len(wanted) >= SHORTEST_WITHIN:
        within = _lasting() & (Q(name__icontains=wanted) | Q(code__contains=wanted))
        yield Q(pk__in=among.filter(within).order_by().values("pk")[:_MOST_WITHIN]), _BY_CODE
        yield DERIVATIVE & Q((f"{column}__startswith", code), expiry__lt=today), _BY_CODE


def _called(wanted: str) -> QuerySet[InstrumentAlias, int]:
    """What a broker calls so: RELIANCE-EQ, NIFTY2681824350CE."""
    return InstrumentAlias.objects.filter(name=wanted).values_list("instrument_id", flat=True)


def _alike(among: QuerySet[Instrument], wanted: str, limit: int) -> list[Instrument]:
    """Shares and indices whose code is nearly so."""
    exchange, _, name = wanted.rpartition(":")
    code = name.translate(_LEFT_OUT)
    if not code.isalnum() or not _SHORTEST_LIKE <= len(code) <= _LONGEST_LIKE:
        return []
    rows = among.filter(_lasting())
    if exchange:
        rows = rows.filter(exchange=exchange)
    if not _has_trigrams():
        return list(rows.filter(code__in=_slips(code)).order_by(*_BY_CODE)[:limit])
    alike = rows.filter(TrigramSimilar(F("code"), Value(code)))
    likeness = TrigramSimilarity("code", code)
    return list(alike.order_by(likeness.desc(), *_BY_CODE)[:limit])


def _lasting() -> Q:
    """What is no contract, in the words of the index that is to be used: of the trigrams', which
    the planner would pass over for another's.
    """
    return Q(expiry=None) if _has_trigrams() else CASH


def _slips(code: str) -> set[str]:
    """Every text that is one letter away, or two neighbours swapped."""
    cuts = [(code[:at], code[at:]) for at in range(len(code) + 1)]
    missing = {left + right[1:] for left, right in cuts if right}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1}
    other = {left + letter + right[1:] for left, right in cuts if right for letter in _LETTERS}
    added = {left + letter + right for left, right in cuts for letter in _LETTERS}
    return missing | swapped | other | added


@lru_cache(maxsize=1)
def _has_trigrams() -> bool:
    """By the index, which a migration makes where it can."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('lasting_within_code') IS NOT NULL")
        return bool(cursor.fetchone()[0])
