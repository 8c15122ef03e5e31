"""The doors of the engine give all names that they list, and no module."""

from importlib import import_module
from types import ModuleType

import pytest

from apps.engine.lazy import lazy_names

DOORS = ("", ".candles", ".evidence", ".language", ".live", ".results", ".studies")


@pytest.mark.parametrize("door", DOORS)
def test_a_door_exports_every_listed_name(door: str) -> None:
    module = import_module(f"apps.engine{door}")
    names = module.__all__
    values = [getattr(module, name) for name in names]
    assert len(set(names)) == len(names) > 0
    assert not any(isinstance(value, ModuleType) for value in values)


def test_a_name_that_no_module_has_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no Nothing"):
        lazy_names("apps.engine.studies", {"study": ["Study"]})("Nothing")


def test_the_doors_have_few_names() -> None:
    names = [name for door in DOORS for name in import_module(f"apps.engine{door}").__all__]
    assert len(set(names)) == len(names) <= 120
