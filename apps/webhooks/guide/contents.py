"""The content of /docs/webhooks: an example to verify, the tables, and the code samples."""

import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from apps.webhooks.event_types import EVENT_SCHEMAS, EventType, render_body
from apps.webhooks.lifecycle import FAILURE_MEANINGS
from apps.webhooks.sending.signing import sign_message

# The secret of the example: the bytes 0 to 31.
_SECRET: Final = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
_EVENT: Final = "6a0ec3f4d5e6f7081929304c"
_AT: Final = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
_SAMPLES: Final = Path(__file__).parent / "samples"


@cache
def guide_contents() -> dict[str, Any]:
    """Return the context of the template."""
    example = EVENT_SCHEMAS[EventType.ALGORITHM_STARTED].example
    body = render_body(
        id=_EVENT, type=EventType.ALGORITHM_STARTED, created_at=_AT, sequence=1, data=example
    )
    at = int(_AT.timestamp())
    return {
        "secret": _SECRET,
        "id": _EVENT,
        "timestamp": at,
        "signature": sign_message([_SECRET], id=_EVENT, at=at, body=body),
        "body": body.decode(),
        "kinds": [
            (type, _with_code(kind.description), _indented(kind.example))
            for type, kind in EVENT_SCHEMAS.items()
        ],
        "failures": list(FAILURE_MEANINGS.items()),
        "python": (_SAMPLES / "receiver.py").read_text(),
        "node": (_SAMPLES / "receiver.mjs").read_text(),
        "curl": (_SAMPLES / "send.sh").read_text(),
    }


def _with_code(text: str) -> SafeString:
    """Mark text between backquotes as code."""
    return mark_safe(re.sub("`(.+?)`", r"<code>\1</code>", escape(text)))


def _indented(data: object) -> str:
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()
