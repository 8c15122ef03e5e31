"""The report as one page without network, fonts or other files.

Its scripts and its style are the same on every page, so the Content-Security-Policy names them by
their hashes: no other script can run, whatever a name or a step contains. TradingView's Lightweight
Charts draws the charts (decision 0023). A page is cached without that script, its largest part: a
NUL, which stored text cannot contain, marks its place.
"""

import base64
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from django.core.serializers.json import DjangoJSONEncoder
from django.template.loader import render_to_string
from django.utils.html import json_script
from django.utils.safestring import mark_safe

from apps.backtests.analysis.report.context import report_context
from apps.backtests.models import Backtest

TEMPLATE: Final = "backtests/report.html"
ASSETS: Final = Path(__file__).with_name("assets")
CHARTS: Final = "lightweight-charts-5.2.1/lightweight-charts.standalone.production.js"


class CompactEncoder(DjangoJSONEncoder):
    """Write no spaces: a page has a hundred thousand numbers."""

    item_separator = ","
    key_separator = ":"


def render(backtest: Backtest, *, now: datetime) -> bytes:
    """Return the report of a completed backtest, made at `now`, without the charts' script."""
    context, chart_data = report_context(backtest, now=now)
    html = render_to_string(
        TEMPLATE,
        context
        | {
            "now": now,
            "policy": _document_policy(),
            "style": mark_safe(_read_asset("report.css")),
            "charts": mark_safe("\0"),
            "script": mark_safe(_read_asset("report.js")),
            "data": json_script(chart_data, "data", encoder=CompactEncoder),
        },
    )
    return html.encode()


def with_script(html: bytes) -> bytes:
    """Return the whole page."""
    return html.replace(b"\0", _read_asset(CHARTS).encode())


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
            f"script-src {_hash(CHARTS)} {_hash('report.js')}",
            f"style-src {_hash('report.css')}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(asset: str) -> str:
    """Return the hash with which a policy allows an inline script or style."""
    digest = sha256(_read_asset(asset).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _read_asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
