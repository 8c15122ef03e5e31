"""Bodies, queries and answers: strict when reading, exact when writing.

Reading accepts JSON types without conversion, refuses unknown keys with a hint at the likely one,
and reports all errors at once. A field has its wire name, with a trailing underscore if Python or
REST framework uses the name (`from_`). Its source is the same name in snake case. A field that some
answers lack is not required.
"""

import difflib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from itertools import islice
from typing import Any, ClassVar, Final, cast

from django.http import QueryDict
from rest_framework import serializers

from apps.core.errors import WITHHELD, Fault, InvalidInput
from apps.core.requests.strict_json import UNSTORABLE, storable
from apps.core.times import wire_time

# Control and format characters change how text displays (a line break in a log, a reversed name).
# Emoji need the joiners.
_JOINERS: Final = {"\u200c", "\u200d"}
# A body can hold tens of thousands of unknown keys; nobody reads more errors than this.
_MOST_UNKNOWN: Final = 100
_INTEGER: Final = re.compile(r"[0-9]{1,9}")
_DECIMAL: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,4})?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class TextField(serializers.CharField):
    """A JSON string, trimmed and in NFC; with `exact=True`, for text that is not prose, unchanged.

    `lines=True` allows line breaks and tabs; other control characters are always refused.
    """

    def __init__(self, *, exact: bool = False, lines: bool = False, **options: Any) -> None:
        super().__init__(trim_whitespace=not exact, **options)
        self.lines = lines
        self._exact = exact
        self._allowed = _JOINERS | ({"\n", "\r", "\t"} if lines else set())

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a string")
        if any(unicodedata.category(c) in ("Cc", "Cf") and c not in self._allowed for c in data):
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


class IdTextField(serializers.CharField):
    """The id of a row: 24 hexadecimal digits."""


class FlagField(serializers.BooleanField):
    """A JSON boolean. 1 and "true" are refused."""

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError("must be true or false")
        return data


class NumberField(serializers.FloatField):
    """A JSON number within bounds; answers have whole numbers without a decimal point."""

    def to_internal_value(self, data: object) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            raise serializers.ValidationError("must be a number")
        if (self.min_value is not None and data < self.min_value) or (
            self.max_value is not None and data > self.max_value
        ):
            raise serializers.ValidationError(
                f"must be between {self.min_value:g} and {self.max_value:g}"
            )
        return float(data)

    def to_representation(self, value: Any) -> Any:
        return float(value) if isinstance(value, Decimal) else value


class NullableTextField(serializers.CharField):
    """A text of an answer; empty text becomes null."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_null=True, **options)

    def to_representation(self, value: Any) -> Any:
        return super().to_representation(value) or None


class ChoiceField(serializers.ChoiceField):
    """A member of a closed set of strings, such as an enum.

    An error lists the set; an answer has null for an empty string.
    """

    def __init__(self, choices: Iterable[str], **options: Any) -> None:
        super().__init__([str(choice) for choice in choices], **options)

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str) or data not in self.choices:
            raise serializers.ValidationError("is not one of the allowed values")
        return data

    def to_representation(self, value: Any) -> Any:
        return super().to_representation(value) or None


class MomentField(serializers.DateTimeField):
    """An ISO 8601 timestamp, sent with any zone and answered in UTC with Z."""

    def to_internal_value(self, value: object) -> datetime:
        try:
            moment = datetime.fromisoformat(value) if isinstance(value, str) else None
            if moment is not None and moment.tzinfo is not None:
                return moment.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        raise serializers.ValidationError("must be a timestamp such as 2027-01-31T18:30:00Z")

    def to_representation(self, value: Any) -> Any:
        return wire_time(value) if isinstance(value, datetime) else value


class ListField(serializers.Field[list[object], list[object], list[object], Any]):
    """A JSON array; the caller validates its items."""

    def to_internal_value(self, data: object) -> list[object]:
        if not isinstance(data, list):
            raise serializers.ValidationError("must be an array")
        return data

    def to_representation(self, value: list[object]) -> list[object]:
        return value


class ChoiceSetField(serializers.Field[list[str], list[object], list[str], Any]):
    """A JSON array of at least `least` distinct members of a closed set of strings, returned in the
    order of the set.
    """

    def __init__(self, *, choices: Sequence[str], least: int = 1, **options: Any) -> None:
        super().__init__(**options)
        self.choices = choices
        self.least = least

    def to_internal_value(self, data: list[object]) -> list[str]:
        if not isinstance(data, list):
            raise serializers.ValidationError("must be an array")
        if not self.least <= len(data) <= len(self.choices):
            raise serializers.ValidationError(
                f"must name {self.least} to {len(self.choices)} of the allowed values"
            )
        errors: dict[str, list[str]] = {}
        for index, item in enumerate(data):
            if item not in self.choices:
                errors[str(index)] = ["is not one of the allowed values"]
            elif item in data[:index]:
                errors[str(index)] = ["is listed twice"]
        if errors:
            raise serializers.ValidationError(errors)
        return [choice for choice in self.choices if choice in data]

    def to_representation(self, value: list[str]) -> list[str]:
        return value


class ObjectField(serializers.Field[Any, Any, Any, Any]):
    """A JSON object with any keys."""

    def to_internal_value(self, data: object) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("must be an object")
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class QueryIntegerField(serializers.IntegerField):
    """A whole number of 1 to `max_value` in a query string."""

    def __init__(self, *, max_value: int, **options: Any) -> None:
        super().__init__(min_value=1, max_value=max_value, **options)

    def to_internal_value(self, data: object) -> int:
        text = str(data)
        if not _INTEGER.fullmatch(text) or not 1 <= int(text) <= (self.max_value or 0):
            raise serializers.ValidationError(f"must be a whole number from 1 to {self.max_value}")
        return int(text)


class QueryDecimalField(serializers.DecimalField):
    """A plain decimal above 0 and up to `max_value`, of at most four places, in a query string."""

    def __init__(self, *, max_value: int, **options: Any) -> None:
        super().__init__(max_digits=16, decimal_places=4, max_value=Decimal(max_value), **options)

    def to_internal_value(self, data: object) -> Decimal:
        text = str(data)
        most = self.max_value or 0
        if not _DECIMAL.fullmatch(text) or not 0 < Decimal(text) <= most:
            raise serializers.ValidationError(
                f"must be a decimal above 0 and up to {most}, with at most four places"
            )
        return Decimal(text)


class QueryDateField(serializers.DateField):
    """A date, YYYY-MM-DD, in a query string."""

    def to_internal_value(self, value: object) -> date:
        try:
            if isinstance(value, str) and _DATE.fullmatch(value):
                return date.fromisoformat(value)
        except ValueError:
            pass
        raise serializers.ValidationError("must be a date (YYYY-MM-DD)")


class StrictSerializer(serializers.Serializer[Any]):
    """The base of bodies and queries.

    `read` and `read_query` return the validated values keyed by source, or raise InvalidInput with
    every error; `render` returns the answer. A read-only field in a body is ignored, so a client
    can send an answer back.
    """

    refuses_unknown: ClassVar[bool] = True
    is_answer: ClassVar[bool] = False
    # Whether values are attributes (or keys) in snake case; a JSON document has the wire's names.
    has_snake_case_sources: ClassVar[bool] = True
    default_error_messages = {"invalid": "must be an object"}

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = {name.rstrip("_"): field for name, field in super().get_fields().items()}
        if self.has_snake_case_sources:
            for name, field in fields.items():
                source = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), name)
                if field.source is None and source != name:
                    field.source = source
        return fields

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """Return the validated values of a body, which the parser guarantees to be an object."""
        serializer = _shared(cls)
        faults = list(islice(_unknown_keys(serializer, data), _MOST_UNKNOWN))
        values: dict[str, Any] = {}
        try:
            values = serializer.run_validation(data)
        except serializers.ValidationError as error:
            by_field = cast("dict[str, Any]", error.detail)
            faults += _faults(serializer, by_field, data)
        if faults:
            raise InvalidInput(*faults)
        return values

    @classmethod
    def read_query(cls, query: QueryDict) -> dict[str, Any]:
        """Return the validated values of the query string.

        A parameter may be given once. Parameters of other serializers are ignored.
        """
        texts: dict[str, str] = {}
        for name in map(str, _shared(cls).fields):
            values = query.getlist(name)
            if len(values) > 1:
                raise InvalidInput(Fault(name, "is given more than once in the query", values))
            if values and UNSTORABLE.search(values[0]):
                message = "holds a NUL or half of a surrogate pair"
                raise InvalidInput(Fault(name, message, storable(values[0])))
            if values:
                texts[name] = values[0]
        return cls.read(texts)

    @classmethod
    def render(cls, instance: Any) -> dict[str, Any]:
        answer: dict[str, Any] = _shared(cls).to_representation(instance)
        return answer


class AnswerSerializer(StrictSerializer):
    """The base of answers."""

    is_answer = True


class DocumentSerializer(AnswerSerializer):
    """The base of answers that are JSON documents and already have wire names as keys."""

    has_snake_case_sources = False


@cache
def _shared(serializer: type[StrictSerializer]) -> StrictSerializer:
    """Return the shared instance that reads all bodies and renders all answers: a new instance
    copies all of its fields, which takes longer than rendering.
    """
    return serializer()


def _unknown_keys(
    serializer: StrictSerializer, data: Mapping[str, object], path: str = ""
) -> Iterator[Fault]:
    """Yield each key of the body that the serializer does not know, nested objects included."""
    for key, value in data.items():
        field = serializer.fields.get(key)
        if field is None and serializer.refuses_unknown:
            near = difflib.get_close_matches(key[:64], list(serializer.fields), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            known = list(serializer.fields)
            yield Fault(path + key, "is not known here" + hint, value, known)
        elif (
            isinstance(field, StrictSerializer) and not field.read_only and isinstance(value, dict)
        ):
            yield from _unknown_keys(field, value, f"{path}{key}.")


def _faults(
    serializer: StrictSerializer,
    errors: Mapping[str, Any],
    data: Mapping[str, Any],
    path: str = "",
) -> list[Fault]:
    """Return REST framework's errors with their paths, the values sent and the values allowed."""
    faults = []
    for name, messages in errors.items():
        field = serializer.fields[name]
        value = data.get(name)
        if isinstance(field, StrictSerializer) and isinstance(value, dict):
            faults += _faults(field, messages, value, f"{path}{name}.")
            continue
        is_hidden = name not in data or isinstance(field, SecretField)
        allowed = list(field.choices) if isinstance(field, ChoiceField | ChoiceSetField) else None
        if (
            isinstance(value, list)
            and isinstance(messages, dict)
            and "non_field_errors" not in messages
        ):
            faults += [
                Fault(f"{path}{name}[{index}]", _first_message(message), value[int(index)], allowed)
                for index, message in messages.items()
            ]
            continue
        shown = WITHHELD if is_hidden else value
        faults.append(Fault(path + name, _first_message(messages), shown, allowed))
    return faults


def _first_message(messages: object) -> str:
    """Return the first message.

    REST framework's `This field is required.` becomes `is required`, to follow the field's name.
    """
    while isinstance(messages, list | dict):
        messages = messages[0] if isinstance(messages, list) else next(iter(messages.values()))
    return re.sub(r"^(This field|Ensure this field) ", "", str(messages)).rstrip(".")


class EmptyBody(StrictSerializer):
    """The body of a call that has no fields of its own."""
