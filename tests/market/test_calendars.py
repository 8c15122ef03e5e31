"""The calendar of a symbol, from the loaded masters and rules."""

from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pytest

from apps.core.times import day_number
from apps.market.rulebook.calendars import calendar_of, calendars_of
from tests.market.bars import at
from tests.symbols.instruments import future, master_of_derivatives

pytestmark = pytest.mark.django_db

AUGUST = date(2026, 8, 3)
"""From then on the shares that have derivatives close earlier."""
EARLY, LATE = at("2026-08-03 15:15"), at("2026-08-03 15:30")
SHARES = ("NSE:SBIN", "NSE:SBIN1", "NSE:SMALL", "BSE:SMALL")


def close_of(symbol: str) -> int:
    return int(calendars_of(SHARES)[symbol].hours(np.array([day_number(AUGUST)], np.int32))[1][0])


def test_without_a_master_of_derivatives_every_share_is_thought_to_have_some() -> None:
    future("NSE:SBIN26AUGFUT", expiry=AUGUST, underlying="SBIN")
    assert [close_of(symbol) for symbol in SHARES] == [EARLY] * 4


def test_a_master_names_the_shares_of_its_exchange_with_derivatives() -> None:
    future("NSE:SBIN26AUGFUT", expiry=AUGUST, underlying="SBIN")
    future("MCX:SMALL26AUGFUT", expiry=AUGUST, underlying="SMALL", segment="commodity")
    master_of_derivatives()
    assert [close_of(symbol) for symbol in SHARES] == [EARLY, LATE, LATE, EARLY]
    assert calendar_of("NSE:SMALL") is calendars_of(SHARES)["NSE:SMALL"]


def test_any_number_of_calendars_takes_two_statements(
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    master_of_derivatives()
    with django_assert_num_queries(2):
        calendars_of([f"NSE:S{n}" for n in range(100)])
    with django_assert_num_queries(2):
        assert calendars_of([]) == {}
