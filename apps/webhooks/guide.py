"""What /docs/webhooks shows: an example that can be recalculated, the tables, samples that run."""

import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from apps.webhooks.event_types import EVENT_SCHEMAS, EventType, body_of
from apps.webhooks.failures import MEANINGS
from apps.webhooks.signing import sign

SECRET: Final = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
"""Of the example: the bytes 0 to 31."""
_EVENT: Final = "6a0ec3f4d5e6f7081929304c"
_AT: Final = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
_SAMPLES: Final = Path(__file__).parent / "samples"


@cache
def contents() -> dict[str, Any]:
    """The places of the page. Any: of a template."""
    shown = EVENT_SCHEMAS[EventType.ALGORITHM_STARTED].example
    body = body_of(
        id=_EVENT, type=EventType.ALGORITHM_STARTED, created_at=_AT, sequence=1, data=shown
    )
    at = int(_AT.timestamp())
    return {
        "secret": SECRET,
        "id": _EVENT,
        "timestamp": at,
        "signature": sign([SECRET], id=_EVENT, at=at, body=body),
        "body": body.decode(),
        "kinds": [
            (type, _marked(kind.description), _data(kind.example))
            for type, kind in EVENT_SCHEMAS.items()
        ],
        "failures": list(MEANINGS.items()),
        "python": (_SAMPLES / "receiver.py").read_text(),
        "node": (_SAMPLES / "receiver.mjs").read_text(),
        "curl": (_SAMPLES / "send.sh").read_text(),
    }


def _marked(text: str) -> SafeString:
    """With what stands between backquotes as code."""
    return mark_safe(re.sub("`(.+?)`", r"<code>\1</code>", escape(text)))


def _data(shown: object) -> str:
    return orjson.dumps(shown, option=orjson.OPT_INDENT_2).decode()
