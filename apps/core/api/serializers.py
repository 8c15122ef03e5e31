"""Reading request bodies strictly: the right types, nothing coerced, every fault at once."""

import difflib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, ClassVar, Final

from rest_framework import serializers

from apps.core.errors import WITHHELD, Fault, InvalidInput

# Control and format characters change what a reader sees (a line break in a log, a reversed
# name); the joiners build emoji.
_JOINERS: Final = {"\u200c", "\u200d"}
# A body can hold tens of thousands of keys; more faults than these nobody reads.
_MOST_UNKNOWN: Final = 100


class TextField(serializers.CharField):
    """A JSON string, trimmed and in NFC, or with `exact=True`, for what is not prose, as it was
    sent; `lines=True` admits line breaks and tabs, other control characters never pass.
    """

    def __init__(self, *, exact: bool = False, lines: bool = False, **options: Any) -> None:
        super().__init__(trim_whitespace=not exact, **options)
        self.lines = lines
        self._exact = exact
        self._kept = _JOINERS | ({"\n", "\r", "\t"} if lines else set())

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a string")
        if any(unicodedata.category(c) in ("Cc", "Cf") and c not in self._kept for c in data):
            raise serializers.ValidationError("holds a control character")
        text = super().to_internal_value(data)
        return text if self._exact else unicodedata.normalize("NFC", text)


class SecretField(serializers.CharField):
    """A password or token: exactly as sent, never trimmed, never echoed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a string")
        return data


class FlagField(serializers.Field[bool, bool, bool, Any]):
    """A JSON boolean: neither 1 nor "true" is one."""

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError("must be true or false")
        return data


class NumberField(serializers.Field[float, float, float, Any]):
    """A JSON number within bounds."""

    def __init__(self, *, least: float, most: float, **options: Any) -> None:
        super().__init__(**options)
        self.least, self.most = least, most

    def to_internal_value(self, data: object) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            raise serializers.ValidationError("must be a number")
        if not self.least <= data <= self.most:
            raise serializers.ValidationError(f"must lie between {self.least:g} and {self.most:g}")
        return float(data)


class ChoiceField(serializers.Field[str, str, str, Any]):
    """One of a closed set of strings; the refusal lists the set."""

    def __init__(self, *, choices: tuple[str, ...], **options: Any) -> None:
        super().__init__(**options)
        self.choices = choices

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str) or data not in self.choices:
            raise serializers.ValidationError("is not one of the allowed values")
        return data


class MomentField(serializers.Field[datetime, str, str, Any]):
    """An ISO 8601 timestamp with its zone."""

    def to_internal_value(self, data: object) -> datetime:
        try:
            moment = datetime.fromisoformat(data) if isinstance(data, str) else None
            if moment is not None and moment.tzinfo is not None:
                return moment.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        raise serializers.ValidationError("must be a timestamp such as 2027-01-31T18:30:00Z")


class ListField(serializers.Field[list[object], list[object], list[object], Any]):
    """A JSON array; what its items must be is the business of whoever reads them."""

    def to_internal_value(self, data: object) -> list[object]:
        if not isinstance(data, list):
            raise serializers.ValidationError("must be an array")
        return data


class Body(serializers.Serializer[Any]):
    """The body of a request. `Body.read(data)` gives the validated values or raises `InvalidInput`
    with every fault.
    """

    refuses_unknown: ClassVar[bool] = False
    ignored: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """Any: REST framework's type of `request.data`; the parser lets only objects through."""
        body = cls(data=data)
        faults = list(islice(body._unknown(data), _MOST_UNKNOWN)) if cls.refuses_unknown else []
        if not body.is_valid():
            faults += body._faults(data)
        if faults:
            raise InvalidInput(*faults)
        return dict(body.validated_data)

    def _unknown(self, data: Mapping[str, object]) -> Iterator[Fault]:
        for key in data:
            if key not in self.fields and key not in self.ignored:
                near = difflib.get_close_matches(key[:64], list(self.fields), n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                yield Fault(key, "is not known here" + hint, data[key], list(self.fields))

    def _faults(self, data: Mapping[str, object]) -> Iterator[Fault]:
        for name, messages in self.errors.items():
            field = self.fields[name]
            hidden = name not in data or isinstance(field, SecretField)
            yield Fault(
                field=name,
                message=_first_message(messages),
                value=WITHHELD if hidden else data[name],
                allowed=field.choices if isinstance(field, ChoiceField) else None,
            )


class EmptyBody(Body):
    """Of a call that has no fields of its own."""

    refuses_unknown = True


def _first_message(messages: object) -> str:
    """REST framework says `This field is required.`; beside the field's name that reads `is
    required`.
    """
    while isinstance(messages, list | dict):
        messages = messages[0] if isinstance(messages, list) else next(iter(messages.values()))
    return re.sub(r"^(This field|Ensure this field) ", "", str(messages)).rstrip(".")
