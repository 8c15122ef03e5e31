"""The page of a result: its sections, and the document that needs no network, fonts or other files.

The console shows the same sections in its own frame. In the document, scripts and style are the
same on every page, so the Content-Security-Policy names them by their hashes: no other script can
run, whatever a name or a step contains. TradingView's Lightweight Charts draws the candles
(decision 0023).
"""

import base64
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from django.core.serializers.json import DjangoJSONEncoder
from django.template.loader import render_to_string
from django.utils.html import json_script
from django.utils.safestring import SafeString, mark_safe

from apps.backtests.analysis.report.context import report_context
from apps.backtests.models import Backtest

ASSETS: Final = Path(__file__).with_name("assets")
CHARTS: Final = "lightweight-charts-5.2.1/lightweight-charts.standalone.production.js"
SCRIPTS: Final = ("chart.js", "result.js")
STYLES: Final = ("base.css", "result.css")
# Stored text cannot contain it.
_NUL: Final = "\0"


class CompactEncoder(DjangoJSONEncoder):
    """Write no spaces: a page has a hundred thousand numbers."""

    item_separator = ","
    key_separator = ":"


class ResultPage(NamedTuple):
    """The title and the sections of a result, and the elements with data for its script."""

    title: str
    sections: SafeString
    trades: SafeString
    candles: SafeString

    def pack(self) -> bytes:
        return _NUL.join(self).encode()

    @classmethod
    def unpack(cls, packed: bytes) -> "ResultPage":
        title, *elements = packed.decode().split(_NUL)
        return cls(title, *map(mark_safe, elements))


def render(backtest: Backtest, *, now: datetime) -> ResultPage:
    """Return the page of a completed backtest, made at `now`."""
    context, data = report_context(backtest, now=now)
    return ResultPage(
        f"{context['title']}, {backtest.start_date} to {backtest.end_date}",
        render_to_string("backtests/result.html", {**context, "now": now}),
        json_script(data["trades"], "trade-data", encoder=CompactEncoder),
        json_script(data["candles"], "candle-data", encoder=CompactEncoder),
    )


def standalone_page(result: ResultPage) -> bytes:
    """Return the page as a file, with scripts and style."""
    context = {
        "result": result,
        "policy": _document_policy(),
        "style": mark_safe(_read_assets(*STYLES)),
        "charts": mark_safe(_read_assets(CHARTS)),
        "script": mark_safe(_read_assets(*SCRIPTS)),
    }
    return render_to_string("backtests/report.html", context).encode()


def policy() -> str:
    """Return the Content-Security-Policy of a page.

    A page that runs its scripts in an origin of its own reaches nothing of this one.
    """
    return f"{_document_policy()}; frame-ancestors 'none'; sandbox allow-scripts allow-downloads"


@cache
def _document_policy() -> str:
    """Return the part that also applies to a page saved as a file."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(CHARTS)} {_hash(*SCRIPTS)}",
            f"style-src {_hash(*STYLES)}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(*assets: str) -> str:
    """Return the hash with which a policy allows an inline script or style."""
    digest = sha256(_read_assets(*assets).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _read_assets(*names: str) -> str:
    return "".join((ASSETS / name).read_text(encoding="utf-8") for name in names)
