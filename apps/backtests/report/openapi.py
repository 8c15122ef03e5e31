"""What the OpenAPI document says of a backtest's report."""

from typing import Final

from apps.core.errors import Code
from apps.core.openapi import (
    ID,
    ID_SHOWN,
    MOMENT,
    MOMENT_SHOWN,
    NOTHING,
    PAGED,
    TEXT,
    Answer,
    Operation,
    Schema,
    described,
    page_of,
    page_shown,
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
            "id": ID,
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
_LINK_SHOWN: Final = {
    "id": ID_SHOWN,
    "url": "https://algotrade.example.com/reports/"
    "6a0ec3f1b2d4e5f60718293a.3gGhKxYv0mE5rT1nWq8ZsUo7pLcJdBfA2iHk4tVyXeM",
    "expiresAt": MOMENT_SHOWN,
}
SHARE: Final = Operation(
    name="shareReport",
    summary="A link to its report, for a browser",
    text="Whoever has the address sees the report, for 24 hours, without a token.",
    tag=_TAG,
    parameters=(_ID,),
    idempotent=True,
    body=NOTHING,
    answers={200: Answer("The link.", ref("ReportLink"), _LINK_SHOWN)},
    refusals=_REFUSALS,
)
LIST_LINKS: Final = Operation(
    name="listReportLinks",
    summary="The links to its report",
    text="Those that still open it, the newest first.",
    tag=_TAG,
    parameters=(_ID, *PAGED),
    answers={200: Answer("The links.", page_of(ref("ReportLink")), page_shown(_LINK_SHOWN))},
    refusals={404: (Code.BACKTEST_NOT_FOUND,)},
)
RECALL: Final = Operation(
    name="recallReportLink",
    summary="Recall a link to its report",
    text="From then on the address is as unknown as one that never was.",
    tag=_TAG,
    parameters=(_ID, place("link_id", "The link.")),
    answers={204: Answer("It opens nothing any more.")},
    refusals={404: (Code.BACKTEST_NOT_FOUND, Code.NOT_FOUND)},
)
