"""Identifiers are 24 hexadecimal characters that sort by age."""

import pytest

from apps.core.database.ids import is_id, new_id


def test_a_new_id_has_the_form_and_is_new() -> None:
    made = {new_id() for _ in range(1000)}
    assert len(made) == 1000
    assert all(is_id(new_id) for new_id in made)


@pytest.mark.parametrize("text", ["", "x", "1" * 23, "1" * 25, "g" * 24, "A" * 24, "1" * 23 + "\n"])
def test_other_forms_are_no_ids(text: str) -> None:
    assert not is_id(text)
