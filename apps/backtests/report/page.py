"""The report as one page that needs nothing else: no network, no fonts, no files beside it.

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
from apps.backtests.report.content import content_of

TEMPLATE: Final = "backtests/report.html"
_FOLDER: Final = Path(__file__).resolve().parents[1] / "templates" / "backtests"


def make(backtest: Backtest, *, now: datetime) -> bytes:
    """Return the report of a completed backtest, made at `now`, without Plotly's script."""
    content, charts = content_of(backtest)
    html = render_to_string(
        TEMPLATE,
        content
        | {
            "now": now,
            "policy": _own_policy(),
            "style": mark_safe(_own("report.css")),
            "plotly": mark_safe("\0"),
            "unwanted": _sheets_of_plotly(),
            "script": mark_safe(_own("report.js")),
            "charts": mark_safe(_inside_a_script(charts)),
        },
    )
    return html.encode()


def with_script(html: bytes) -> bytes:
    """Return the whole page."""
    return html.replace(b"\0", _plotly())


def policy() -> str:
    """Return the Content-Security-Policy that a page is answered with.

    A page that runs its scripts in an origin of its own reaches nothing of this one.
    """
    return f"{_own_policy()}; frame-ancestors 'none'; sandbox allow-scripts allow-downloads"


@cache
def _own_policy() -> str:
    """Return the part that also holds for a page that was saved as a file."""
    scripts = " ".join(_hash(script) for script in (_plotly(), _own("report.js").encode()))
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {scripts}",
            f"style-src {_hash(_own('report.css').encode())}",
            "img-src data: blob:",  # a chart that is saved as an image
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(content: bytes) -> str:
    """As a policy names an inline script or style."""
    return f"'sha256-{base64.b64encode(sha256(content).digest()).decode()}'"


@cache
def _own(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


@cache
def _plotly() -> bytes:
    """Plotly's script; the package itself would cost each web process some 30 MB."""
    spec = importlib.util.find_spec("plotly")
    assert spec is not None  # it is pinned in requirements.txt
    assert spec.origin is not None
    script = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    return script.read_bytes()


@cache
def _sheets_of_plotly() -> list[str]:
    """The ids of style sheets that Plotly's script would bring along (of its maps), each only where
    no element has it yet: the policy would refuse them, and browsers would report that as an error.
    """
    names = re.findall(rb'document\.getElementById\("([0-9a-f]{64})"\)', _plotly())
    return [name.decode() for name in names]


def _inside_a_script(value: dict[str, Any]) -> str:
    """JSON in which nothing can end the element that it stands in. Any: JSON."""
    text = orjson.dumps(value).decode()
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")
