"""What the OpenAPI document says of a backtest's report."""

from typing import Final

from apps.core.errors import Code
from apps.core.openapi import (
    MOMENT,
    MOMENT_SHOWN,
    NOTHING,
    TEXT,
    Answer,
    Operation,
    Schema,
    described,
    place,
    record,
    ref,
)

_TAG: Final = "backtests"
_ID: Final = place("backtest_id", "The backtest.")
_REFUSALS: Final = {404: (Code.BACKTEST_NOT_FOUND,), 422: (Code.UNPROCESSABLE_ENTITY,)}

SCHEMAS: Final[dict[str, Schema]] = {
    "ReportLink": record(
        {
            "url": described({**TEXT, "format": "uri"}, "Opens without a token; keep it to those "
            "who may see the report."),
            "expiresAt": MOMENT,
        }
    ),
}  # fmt: skip

REPORT: Final = Operation(
    name="readReport",
    summary="Its report, as a page",
    text="One HTML page with charts, figures, breakdowns and the receipt; it needs no network. "
    "Only of one that is completed.",
    tag=_TAG,
    parameters=(_ID,),
    answers={
        200: Answer(
            "The page.",
            TEXT,
            "<!doctype html>…",
            headers=("Content-Security-Policy",),
            media_type="text/html; charset=utf-8",
        )
    },
    refusals=_REFUSALS,
)
SHARE: Final = Operation(
    name="shareReport",
    summary="A link to its report, for a browser",
    text="Whoever has the address sees the report, for 24 hours, without a token.",
    tag=_TAG,
    parameters=(_ID,),
    idempotent=True,
    body=NOTHING,
    answers={
        200: Answer(
            "The link.",
            ref("ReportLink"),
            {
                "url": "https://algotrade.example.com/reports/"
                "6a0ec3f1b2d4e5f60718293a-1795292100.3gGhKxYv0mE5rT1nWq8ZsUo7pLcJdBfA2iHk4tVyXeM",
                "expiresAt": MOMENT_SHOWN,
            },
        )
    },
    refusals=_REFUSALS,
)
