"""Report pages are made once and kept, for all web processes, in a table of bounded size.

A page is that of the moment it was made, which it states: candles that are loaded later do not
change it. A new name of the backtest or its algorithm does, and so does a release that makes pages
otherwise.
"""

import json
import zlib
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from django.db import transaction
from django.db.models import F, Sum, Window

from apps.backtests.models import Backtest, BacktestNotFound, ReportPage
from apps.backtests.report import page
from apps.engine import figures

MOST_BYTES: Final = 256 * 1024 * 1024
"""Of all kept pages together; a typical page has 30,000."""
_REPORT: Final = Path(__file__).parent
_SOURCES: Final = (
    *_REPORT.glob("*.py"),
    *(_REPORT.parent / "templates" / "backtests").glob("report.*"),
    _REPORT.parent / "templatetags" / "report.py",
    *Path(figures.__path__[0]).glob("*.py"),
)
"""The code and templates of which a new release may make other pages."""


def read(backtest_id: str, *, now: datetime) -> bytes:
    """Return the page of a completed backtest: the kept one, else one that is made and kept.

    Raises BacktestNotFound.
    """
    kept = _kept(backtest_id)
    return page.with_script(zlib.decompress(kept or _make(backtest_id, now=now)))


@transaction.atomic
def _make(backtest_id: str, *, now: datetime) -> bytes:
    """Make a page, keep it and return it compressed.

    The lock on the backtest's row makes concurrent readers of the same page wait for this one, and
    keeps the backtest from being renamed or deleted meanwhile.
    """
    rows = Backtest.objects.select_for_update(no_key=True, of=("self",))
    backtest = rows.select_related("algorithm").filter(pk=backtest_id).first()
    if backtest is None:
        raise BacktestNotFound(backtestId=backtest_id)
    kept = _kept(backtest_id)
    if kept is not None:
        return kept
    html = zlib.compress(page.make(backtest, now=now))
    made_with = _made_with(backtest.name, backtest.algorithm.name)
    ReportPage.objects.update_or_create(
        backtest=backtest,
        defaults={"made_with": made_with, "html": html, "size": len(html), "made_at": now},
    )
    _discard_oldest()
    return html


def _kept(backtest_id: str) -> bytes | None:
    """Return the page as it is kept, compressed; None where there is none that is still right."""
    rows = ReportPage.objects.filter(pk=backtest_id)
    columns = ("html", "made_with", "backtest__name", "backtest__algorithm__name")
    for html, made_with, name, algorithm in rows.values_list(*columns):
        if made_with == _made_with(name, algorithm):
            return bytes(html)
    return None


def _made_with(name: str, algorithm: str) -> str:
    """Hash what a page shows or is made with and may change; a result never does."""
    return sha256(json.dumps([_release(), name, algorithm]).encode()).hexdigest()


@cache
def _release() -> str:
    """Hash the code, templates, scripts and styles of this release that make a page.

    The policy stands for scripts and styles, as it has their hashes.
    """
    sources = b"".join(path.read_bytes() for path in sorted(_SOURCES))
    return sha256(sources + page.policy().encode()).hexdigest()


def _discard_oldest() -> None:
    """Keep the newest pages, up to MOST_BYTES; skip rows that another process is deleting."""
    newest_first = [F("made_at").desc(), F("pk").desc()]
    summed = ReportPage.objects.annotate(total=Window(Sum("size"), order_by=newest_first))
    too_many = summed.filter(total__gt=MOST_BYTES).values("pk")
    free = ReportPage.objects.select_for_update(skip_locked=True).filter(pk__in=too_many)
    ReportPage.objects.filter(pk__in=[row.pk for row in free.only("pk")]).delete()
