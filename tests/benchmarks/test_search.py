"""The time of a search in the database, by its own clock."""

import random
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import numpy as np
import pytest
from django.db import connection

from apps.symbols.models import Instrument
from apps.symbols.search import tiers as searching
from tests.benchmarks.side_by_side import MEASURED, Row

pytestmark = [pytest.mark.bench, pytest.mark.django_db, pytest.mark.timeout(600)]

TODAY, EXPIRY = date(2026, 2, 5), date(2026, 3, 31)
SHARES, ROOTS, STRIKES = 10_000, 200, 475  # two options for each strike: 200,000 instruments
SYLLABLES = ("TA", "RE", "LI", "AN", "CE", "IN", "DO", "MA", "HI", "SU", "ZU", "KO", "BA", "JA")
OF_EACH_LENGTH = 15

INSERT = """
INSERT INTO symbols_instrument (symbol, exchange, segment, code, exchange_name, name, type,
    underlying, expiry, strike, option_type, lot_size, isin, enabled, sample, source)
SELECT 'NSE:' || code, 'NSE', segment, code, code, name, type, underlying, expiry, strike,
    option_type, 1, '', true, false, 'made'
FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::date[], %s::int[],
    %s::text[]) AS made (segment, code, name, type, underlying, expiry, strike, option_type)
"""


@pytest.fixture
def typed(db: None) -> list[str]:
    """Return queries of 1 to 20 letters over 200,000 instruments: beginnings and insides of codes
    and of names, contracts, slips, and random letters.
    """
    dice = random.Random(1)
    made = {"".join(dice.choices(SYLLABLES, k=4)) for _ in range(2 * SHARES)}
    codes = sorted(made)[:SHARES]
    shares = [
        ("cash", code, f"{code.title()} Industries of {code[4:]}", "equity", "", None, None, "")
        for code in codes
    ]
    options = [
        ("derivatives", f"{root}26MAR{strike}{side}", root, "options", root, EXPIRY, strike, side)
        for root in codes[:: SHARES // ROOTS]
        for strike in range(100, 100 + STRIKES)
        for side in ("CE", "PE")
    ]
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [list(column) for column in zip(*(shares + options), strict=True)])
        cursor.execute("ANALYZE symbols_instrument")
    texts = [row[1] for row in dice.choices(shares, k=SHARES) + dice.choices(options, k=SHARES)]
    texts += [row[2].upper() for row in dice.choices(shares, k=SHARES)]
    return [_cut(dice, texts, length) for length in range(1, 21) for _ in range(OF_EACH_LENGTH)]


def _cut(dice: random.Random, texts: Sequence[str], length: int) -> str:
    """Cut from the beginning or the middle, with a slip, or return random letters."""
    text = dice.choice(texts)
    start = dice.choice((0, 0, dice.randrange(len(text))))
    cut = text[start : start + length] or "A"
    slip = cut[:-2] + cut[-1:] + cut[-2:-1]
    return dice.choice((cut, cut, slip, "".join(dice.choices(text, k=length))))


def in_the_database(query: str) -> float:
    """Return milliseconds for planning and running its statements, each the best of three."""
    asked: list[tuple[str, Any]] = []

    def listen(execute: Callable[..., Any], sql: str, parameters: Any, *arguments: Any) -> Any:
        asked.append((sql, parameters))
        return execute(sql, parameters, *arguments)

    with connection.execute_wrapper(listen):
        searching.search_among(
            Instrument.objects.filter(enabled=True), query=query, today=TODAY, limit=20
        )
    return sum(min(_explained(*question) for _ in range(3)) for question in asked)


def _explained(sql: str, parameters: Any) -> float:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", parameters)
        plan = cursor.fetchone()[0][0]
    return float(plan["Planning Time"] + plan["Execution Time"])


@pytest.mark.parametrize("trigrams", [True, False], ids=["with pg_trgm", "without it"])
def test_a_search(typed: list[str], monkeypatch: pytest.MonkeyPatch, trigrams: bool) -> None:
    monkeypatch.setattr(searching, "_has_trigrams", lambda: trigrams)
    if not trigrams:
        with connection.cursor() as cursor:
            cursor.execute("DROP INDEX lasting_within_code, lasting_within_name")
    taken = [in_the_database(query) for query in typed]
    middle, late, last = (float(np.percentile(taken, q)) for q in (50, 95, 100))
    index = "with" if trigrams else "without"
    name = f"search of 200,000 instruments {index} pg_trgm, in the database"
    figures = f"half under {middle:.2f} ms, 95 % under {late:.2f} ms, all under {last:.1f} ms"
    print(f"\n{name}: {figures} ({len(taken)} queries of 1 to 20 letters)")
    MEASURED.append(Row(name, figures))
