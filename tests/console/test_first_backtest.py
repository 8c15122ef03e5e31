"""From an account to the result of a template's backtest, by the forms of the pages."""

import re
from html import unescape
from pathlib import Path

import pytest
from django.utils.html import escape

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm
from apps.algorithms.services import BuiltInTemplate
from apps.backtests.models import Backtest, Evidence
from apps.backtests.tasks import run_evidence_job
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.console.conftest import Browse
from tests.console.forms import GALLERY, HOSTILE_TEXTS, make_from_gallery
from tests.market.bars import store_candles


@pytest.mark.parametrize("strategy", GALLERY)
def test_a_strategy_of_the_gallery_is_ready_and_undoubted(
    browse: Browse, alice: User, strategy: BuiltInTemplate
) -> None:
    address = make_from_gallery(browse(alice), strategy.slug)
    algorithm = Algorithm.objects.get(pk=address.rsplit("/", 1)[1])
    review = services.review(algorithm=algorithm, now=algorithm.created_at)
    assert (algorithm.status, review.errors) == ("stopped", ())
    by_itself = {
        fault.field
        for fault in review.warnings
        if not (fault.field.startswith("basicInfo") or "No candles of" in fault.message)
    }
    assert by_itself == (
        {"positionSizing.pyramiding.distance"} if strategy.slug == "grid" else set()
    )


def test_a_template_becomes_a_completed_backtest(browse: Browse, alice: User) -> None:
    store_candles("NSE:RELIANCE", "5m", wave_candles("2026-04-01", 60, step=300))
    client = browse(alice)
    address = make_from_gallery(client, "ema-cross")
    form = client.get(f"{address}/backtest").content.decode()
    dates = {
        name: re.search(rf'name="{name}"[^>]*value="([^"]+)"', form)[1]  # type: ignore[index]
        for name in ("startDate", "endDate")
    }
    submitted = client.post(f"{address}/backtest", dates)
    waiting = client.get(submitted["Location"])
    assert b"<progress" in waiting.content
    run_queued()
    polled = client.get(submitted["Location"], headers={"HX-Request": "true"})
    assert polled["HX-Redirect"] == submitted["Location"]
    result = client.get(submitted["Location"]).content.decode()
    assert "Net profit" in result
    report = re.search(r'href="(/api/backtests/[0-9a-f]+/report)"', result)
    assert report is not None
    assert client.get(report[1]).status_code == 200
    table = client.get(f"{submitted['Location']}/trades.csv")
    lines = b"".join(table).decode().splitlines()
    backtest = Backtest.objects.get()
    assert backtest.performance
    assert len(lines) == 1 + backtest.performance["totalTrades"] > 1
    backtest_id = submitted["Location"].rsplit("/", 1)[1]
    compared = client.get(f"/app/backtests/compare?id={backtest_id}&id={backtest_id}")
    assert b"Sharpe ratio" in compared.content
    assert client.get("/app/backtests?status=completed").content.count(b"status completed") == 1


def test_the_json_round_trips_and_errors_are_shown(browse: Browse, alice: User) -> None:
    client = browse(alice)
    address = make_from_gallery(client, "rsi-2")
    algorithm = Algorithm.objects.get(pk=address.rsplit("/", 1)[1])
    before = algorithm.configuration
    shown = client.get(f"{address}/json").context["text"]
    assert client.post(f"{address}/json", {"steps": shown}).status_code == 302
    algorithm.refresh_from_db()
    assert algorithm.configuration == before
    refused = client.post(f"{address}/json", {"steps": shown.replace('"RSI"', '"RSJ"')})
    assert (refused.status_code, "RSJ" in refused.context["text"]) == (400, True)
    assert b'role="alert"' in refused.content


def test_versions_are_compared_in_words(browse: Browse, alice: User) -> None:
    client = browse(alice)
    address = make_from_gallery(client, "rsi-2")
    steps = client.get(f"{address}/json").context["text"].replace('"period": 200', '"period": 150')
    client.post(f"{address}/json", {"steps": steps})
    page = client.get(f"{address}/versions?version=2&since=1").content
    assert b"<del>" in page
    assert b"<ins>" in page


def test_another_users_algorithm_is_not_found(browse: Browse, alice: User, bob: User) -> None:
    address = make_from_gallery(browse(alice), "rsi-2")
    stranger = browse(bob)
    for page in ("", "/json", "/versions", "/steps", "/backtest"):
        assert stranger.get(address + page).status_code == 404
    assert stranger.post(f"{address}/do/delete").status_code == 404


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_user_input_stays_text(browse: Browse, alice: User, text: str) -> None:
    client = browse(alice)
    address = make_from_gallery(client, "rsi-2")
    client.post(f"{address}/do/rename", {"name": text, "description": text})
    client.post(f"{address}/json", {"steps": text})
    for page in ("/app", "/app/algorithms", address, f"{address}/json", f"{address}/versions"):
        body = client.get(page).content.decode()
        assert text not in body or text.startswith("{{")
    refused = client.post(f"{address}/json", {"steps": text}).content.decode()
    assert text not in refused or text.startswith("{{")


def test_templates_contain_no_script_and_no_style() -> None:
    templates = list(Path("apps/console/templates").rglob("*.html"))
    assert templates
    for template in templates:
        source = template.read_text()
        assert not re.search(
            r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|\|safe|autoescape off", source
        ), template


def test_the_evidence_is_requested_and_shown_once_it_is_ready(
    browse: Browse, alice: User, bob: User
) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    backtest = submit(alice)
    client = browse(alice)
    address = f"/app/backtests/{backtest.pk}"
    part = {"HX-Request": "true"}
    assert client.get(f"{address}/evidence").status_code == 422
    run_queued()
    assert f'hx-get="{address}/evidence"' in client.get(address).content.decode()
    assert client.get(f"{address}/evidence", headers=part).status_code == 204
    run_evidence_job(backtest.pk)
    for answer in (client.get(f"{address}/evidence", headers=part), client.get(address)):
        shown = answer.content.decode()
        assert f'hx-get="{address}/evidence"' not in shown
        document = Evidence.objects.get(pk=backtest.pk).document
        assert document
        for section in document["sections"].values():
            assert escape(section["sentence"]) in shown
    assert client.get(f"{address}/evidence")["Location"] == f"{address}#evidence"
    assert browse(bob).get(f"{address}/evidence").status_code == 404


def test_a_result_in_the_console_is_the_page_of_its_report(browse: Browse, alice: User) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    backtest = submit(alice)
    run_queued()
    client = browse(alice)
    shown = client.get(f"/app/backtests/{backtest.pk}").content.decode()
    report = client.get(f"/api/backtests/{backtest.pk}/report").content.decode()
    sections = report[report.index("<header>") : report.index("</footer>")]
    assert sections in shown
    assert "candle-data" not in shown  # it reads candles where one looks


@pytest.mark.parametrize(
    ("status", "error", "advice"),
    [
        ("cancelled", None, "You cancelled this backtest"),
        ("failed", {"code": "INSUFFICIENT_DATA", "message": "No bars."}, "Load the missing"),
        ("failed", {"code": "UNPROCESSABLE_ENTITY", "message": "No."}, "Change the algorithm"),
    ],
)
def test_a_backtest_without_a_result_says_what_to_do(
    browse: Browse, alice: User, status: str, error: dict[str, str] | None, advice: str
) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    backtest = submit(alice)
    Backtest.objects.update(status=status, error=error)
    client = browse(alice)
    text = client.get(f"/app/backtests/{backtest.pk}").content.decode()
    assert advice in text
    assert error is None or error["message"] in text
    again = re.search(r'href="([^"]+/backtest[?][^"]+)">Run it again', text)
    assert again
    form = client.get(unescape(again[1])).content.decode()
    assert f'value="{backtest.start_date}"' in form
