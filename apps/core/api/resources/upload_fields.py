"""Files in the bodies of calls."""

import binascii
from base64 import b64decode
from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.core.api.resources.records import Schema
from apps.core.api.resources.serializers import StrictSerializer, TextField
from apps.core.files.uploads import MOST_UPLOADED, Upload

_MOST_CHARACTERS: Final = 4 * -(-MOST_UPLOADED // 3)
_CONTENT: Final[Schema] = {
    "type": "string",
    "format": "byte",
    "minLength": 1,
    "maxLength": _MOST_CHARACTERS,
}


_FINGERPRINT: Final[Schema] = {
    "type": "string",
    "pattern": "^[0-9a-f]{64}$",
    "examples": ["5d41402abc4b2a76b9719d911017c592ae5f1c3f0d0b9d5b1f6d3c2b1a098765"],
}


@extend_schema_field(_CONTENT)
class FileField(serializers.Field[bytes, str, str, Any]):
    """The bytes of a file, written in base64."""

    def to_internal_value(self, data: object) -> bytes:
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a string")
        if not 0 < len(data) <= _MOST_CHARACTERS:
            raise serializers.ValidationError(f"must hold 1 to {_MOST_CHARACTERS} characters")
        try:
            return b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise serializers.ValidationError("must be base64") from None


@extend_schema_field(_FINGERPRINT)
class FingerprintField(serializers.RegexField):
    """The fingerprint that the check of a file returned."""


class UploadSerializer(StrictSerializer):
    """A file, to be checked or stored."""

    name = TextField(
        max_length=200,
        help_text="The file's own name; its ending shows the compression: `X.csv.gz`.",
    )
    content = FileField(help_text=f"The file in base64, at most {MOST_UPLOADED:,} bytes of it.")
    checked = FingerprintField(
        _FINGERPRINT["pattern"],
        required=False,
        help_text="The `fingerprint` that the check of this file, with these options, returned:"
        " store it. Without `checked` nothing is stored.",
    )

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """Return the fields beside the file, and the file as `upload`."""
        body = super().read(data)
        name, content, checked = body.pop("name"), body.pop("content"), body.pop("checked", "")
        options = repr(sorted(body.items()))
        return {**body, "upload": Upload(name, content, options, checked)}
