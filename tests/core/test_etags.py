"""The revision expected by a write."""

import pytest

from apps.core.errors import PreconditionFailed
from apps.core.requests.etags import expected, is_known, tag_of


def test_a_tag_is_strong_and_quoted() -> None:
    assert tag_of(7) == '"7"'


@pytest.mark.parametrize(
    "header", [None, "*", " * ", '"7"', ' "7" ', '"6", "7"', '"6","7","8"', 'W/"6", "7"', 'W/"7"']
)
def test_the_current_tag_matches(header: str | None) -> None:
    expected({} if header is None else {"If-Match": header}).check(7)


@pytest.mark.parametrize(
    "header",
    [
        "",
        '"6"',
        'W/"6"',
        "7",
        "'7'",
        '"7',
        '7"',
        '"07"',
        '"7 "',
        '" 7"',
        '"*"',
        "**",
        '"6", "8"',
        "null",
        '"77"',
        "\x00",
        '"७"',
    ],
)
def test_any_other_tag_does_not_match(header: str) -> None:
    with pytest.raises(PreconditionFailed) as refusal:
        expected({"If-Match": header}).check(7)
    assert refusal.value.details == {"reason": "precondition_failed", "currentETag": '"7"'}


@pytest.mark.parametrize(
    ("header", "known"),
    [
        (None, False),
        ('"7"', True),
        ('W/"7"', True),
        ('"6", "7"', True),
        ("*", True),
        ('"6"', False),
        ("7", False),
        ("", False),
    ],
)
def test_if_none_match_compares_with_the_clients_tags(header: str | None, known: bool) -> None:
    assert is_known('"7"', {} if header is None else {"If-None-Match": header}) is known
