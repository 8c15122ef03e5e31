"""The console's formats of amounts, times and names."""

import pytest
from django.template import Context, Template


def written(text: str, **values: object) -> str:
    return Template("{% load console %}" + text).render(Context(values, autoescape=False))


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567.5, "12,34,567.50"), (-1041.3, "\N{MINUS SIGN}1,041.30"), (0, "0.00"), (None, "–")],
)
def test_numbers_have_lakhs_and_crores_set_apart(value: float | None, text: str) -> None:
    assert written("{{ value|number }}", value=value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "about 1 second"),
        (42, "about 42 seconds"),
        (89, "about 89 seconds"),
        (150, "about 2 minutes"),
        (5399, "about 90 minutes"),
        (7300, "about 2 hours"),
    ],
)
def test_a_duration_is_written_in_the_unit_that_fits(seconds: float, text: str) -> None:
    assert written("{{ value|duration }}", value=seconds) == text


@pytest.mark.parametrize(
    ("sent", "text"),
    [("2026-04-08", "08 Apr 2026"), ("2026-04-08T18:30:00Z", "09 Apr 2026, 00:00")],
)
def test_an_end_of_a_range_is_written_as_sent(sent: str, text: str) -> None:
    assert written("{{ value|day }}", value=sent) == text


CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1"


@pytest.mark.parametrize(
    ("user_agent", "text"),
    [
        (CHROME + " Safari/537.36", "Chrome on Linux"),
        (IPHONE, "Safari on iPhone"),
        (CHROME + " Safari/537.36 Edg/141.0", "Edge on Linux"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", "–"),
    ],
)
def test_a_browser_is_called_by_its_name(user_agent: str, text: str) -> None:
    assert written("{{ value|browser }}", value=user_agent) == text


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"amount": 13}, "₹13.00"),
        ({"percent": 0.0001}, "0.0001%"),
        ({"percent": 0}, "0%"),
        ({"percent": 0.03, "cap": 20}, "0.03%, at most ₹20.00"),
        ({"flat": 20, "percent": 0.1}, "₹20.00 and 0.1%"),
    ],
)
def test_a_charge_is_written_whole(row: dict[str, float], text: str) -> None:
    assert written("{{ row|charge }}", row=row) == text


@pytest.mark.parametrize(
    ("path", "current"),
    [("/app", "Home"), ("/app/live/1", "Live"), ("/app/algorithms", "Algorithms")],
)
def test_the_navigation_marks_the_current_page(path: str, current: str) -> None:
    lines = written("{% navigation path %}", path=path).splitlines()
    assert [current in line for line in lines if "aria-current" in line] == [True]
