"""The report as one page that needs no network, no fonts and no other files.

Its scripts and its style are the same on every page, so the Content-Security-Policy names them by
their hashes: whatever a name or a step may hold, nothing else in the page can run. Plotly's script
comes from its wheel, without importing the package (decision 0023).

A page is made without Plotly's script, which is a hundred times its size: a NUL, which no text that
the service stores can hold, stands where it goes.
"""

import base64
import importlib.util
import re
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import orjson
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from apps.backtests.models import Backtest
from apps.backtests.report.context import report_context

TEMPLATE: Final = "backtests/report.html"
_FOLDER: Final = Path(__file__).resolve().parents[1] / "templates" / "backtests"


def render(backtest: Backtest, *, now: datetime) -> bytes:
    """Return the report of a completed backtest, made at `now`, without Plotly's script."""
    context, charts = report_context(backtest)
    html = render_to_string(
        TEMPLATE,
        context
        | {
            "now": now,
            "policy": _document_policy(),
            "style": mark_safe(_read_own("report.css")),
            "plotly": mark_safe("\0"),
            "plotly_style_ids": _plotly_style_ids(),
            "script": mark_safe(_read_own("report.js")),
            "charts": mark_safe(_script_safe_json(charts)),
        },
    )
    return html.encode()


def with_script(html: bytes) -> bytes:
    """Return the whole page."""
    return html.replace(b"\0", _plotly_script())


def policy() -> str:
    """Return the Content-Security-Policy that a page is answered with.

    A page that runs its scripts in an origin of its own reaches nothing of this one.
    """
    return f"{_document_policy()}; frame-ancestors 'none'; sandbox allow-scripts allow-downloads"


@cache
def _document_policy() -> str:
    """Return the part that also holds for a page that was saved as a file."""
    scripts = " ".join(
        _hash(script) for script in (_plotly_script(), _read_own("report.js").encode())
    )
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {scripts}",
            f"style-src {_hash(_read_own('report.css').encode())}",
            "img-src data: blob:",  # a chart that is saved as an image
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(content: bytes) -> str:
    """Return the hash by which a policy allows an inline script or style."""
    return f"'sha256-{base64.b64encode(sha256(content).digest()).decode()}'"


@cache
def _read_own(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


@cache
def _plotly_script() -> bytes:
    """Return Plotly's script; importing the package would cost each web process some 30 MB."""
    spec = importlib.util.find_spec("plotly")
    assert spec is not None  # it is pinned in requirements.txt
    assert spec.origin is not None
    script = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    return script.read_bytes()


@cache
def _plotly_style_ids() -> list[str]:
    """Return the ids of the style sheets that Plotly's script adds for its maps.

    It adds each only where no element has that id; the policy would refuse it, and browsers would
    report an error.
    """
    names = re.findall(rb'document\.getElementById\("([0-9a-f]{64})"\)', _plotly_script())
    return [name.decode() for name in names]


def _script_safe_json(value: dict[str, Any]) -> str:
    """Return JSON in which nothing can end the script element around it."""
    text = orjson.dumps(value).decode()
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")
