"""The cache of result pages: a table of bounded size, shared by all web processes.

A page states when it was made, and candles loaded later do not change it. It is rendered again
after a new name of the backtest or its algorithm, after a change of its evidence, and by a release
that renders pages differently.
"""

import inspect
import json
import zlib
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from django.db import transaction
from django.db.models import F, Sum, Window

from apps.backtests.analysis.report import page
from apps.backtests.analysis.report.page import ResultPage
from apps.backtests.models import Backtest, BacktestNotFound, ReportPage
from apps.engine.results import ResultData

# The size of all cached pages together; a typical page has 30,000 bytes.
MAX_CACHE_BYTES: Final = 256 * 1024 * 1024
# Columns of a backtest that its page depends on and that may change; a result never does.
_CHANGING: Final = ("name", "algorithm__name", "evidence__status", "evidence__completed_at")
_REPORT: Final = Path(__file__).parent
_APP: Final = _REPORT.parents[1]
# Code and templates of the pages: another release may render differently.
_SOURCES: Final = (
    *_REPORT.glob("*.py"),
    *(_APP / "templates" / "backtests").glob("*.html"),
    _APP / "templatetags" / "report.py",
    *Path(inspect.getfile(ResultData)).parent.glob("*.py"),
)


def read(backtest_id: str, *, now: datetime) -> ResultPage:
    """Return the page of a completed backtest from the cache, or render and cache it.

    Raises BacktestNotFound.
    """
    cached = _load(backtest_id)
    return ResultPage.unpack(zlib.decompress(cached or _render(backtest_id, now=now)))


@transaction.atomic
def _render(backtest_id: str, *, now: datetime) -> bytes:
    """Render a page, cache it and return it compressed.

    The lock on the backtest's row makes concurrent readers of the same page wait for this one, and
    keeps the backtest from being renamed or deleted meanwhile.
    """
    rows = Backtest.objects.select_for_update(no_key=True, of=("self",))
    backtest = rows.select_related("algorithm").filter(pk=backtest_id).first()
    if backtest is None:
        raise BacktestNotFound(backtestId=backtest_id)
    cached = _load(backtest_id)
    if cached is not None:
        return cached
    # Read before the page is made: evidence that is ready meanwhile is on the next reader's page.
    changing = Backtest.objects.values_list(*_CHANGING).get(pk=backtest_id)
    html = zlib.compress(page.render(backtest, now=now).pack())
    ReportPage.objects.update_or_create(
        backtest=backtest,
        defaults={
            "made_with": _fingerprint(*changing),
            "html": html,
            "size": len(html),
            "made_at": now,
        },
    )
    _discard_oldest()
    return html


def _load(backtest_id: str) -> bytes | None:
    """Return the cached page, compressed; None without a current one."""
    rows = ReportPage.objects.filter(pk=backtest_id)
    changing = [f"backtest__{column}" for column in _CHANGING]
    for html, made_with, *values in rows.values_list("html", "made_with", *changing):
        if made_with == _fingerprint(*values):
            return bytes(html)
    return None


def _fingerprint(*changing: object) -> str:
    """Hash the inputs of a page; `changing` are the values of _CHANGING."""
    return sha256(json.dumps([_release(), *changing], default=str).encode()).hexdigest()


@cache
def _release() -> str:
    """Hash the code, templates, scripts and styles that make a page in this release.

    The policy stands for scripts and styles, because it has their hashes.
    """
    sources = b"".join(path.read_bytes() for path in sorted(_SOURCES))
    return sha256(sources + page.policy().encode()).hexdigest()


def _discard_oldest() -> None:
    """Keep the newest pages, up to MAX_CACHE_BYTES; skip rows that another process is deleting."""
    newest_first = [F("made_at").desc(), F("pk").desc()]
    summed = ReportPage.objects.annotate(total=Window(Sum("size"), order_by=newest_first))
    excess = summed.filter(total__gt=MAX_CACHE_BYTES).values("pk")
    free = ReportPage.objects.select_for_update(skip_locked=True).filter(pk__in=excess)
    ReportPage.objects.filter(pk__in=[row.pk for row in free.only("pk")]).delete()
