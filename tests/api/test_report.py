"""GET /api/backtests/<id>/report, POST …/report-link, …/report-links, GET /reports/<signed>"""

import re
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from django.utils import timezone
from django.utils.html import escape

from apps.accounts.models import User
from apps.backtests import retention, services, tasks
from apps.backtests.analysis.report import page_cache
from apps.backtests.analysis.report import services as report_services
from apps.backtests.analysis.report.context import report_context
from apps.backtests.analysis.report.formats import format_number
from apps.backtests.models import (
    Backtest,
    BacktestKind,
    BacktestResult,
    BacktestStatus,
    Evidence,
    EvidenceStatus,
    ReportLink,
    ReportPage,
)
from apps.backtests.running.submissions import StudyConfigs
from apps.core.models import IdempotencyKey
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles

VERDICT, FIGURES = '<section class="card verdict"', '<dl class="figures">'
NAME = "<script>alert(1)</script> & more"


@pytest.fixture(scope="module")
def alice(kept: None) -> User:
    return make.user("alice")


@pytest.fixture(scope="module")
def backtest(alice: User) -> Backtest:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    backtest = submit(alice)
    run_queued()
    return services.update_backtest(owner=alice, backtest_id=backtest.pk, name=NAME, now=make.NOW)


@pytest.fixture
def completed(db: None, backtest: Backtest) -> Backtest:
    return Backtest.objects.get(pk=backtest.pk)


def path(backtest: Backtest, below: str = "report") -> str:
    return f"/api/backtests/{backtest.pk}/{below}"


def address(api: Api, user: User, backtest: Backtest) -> str:
    made = api(user).post(path(backtest, "report-link"))
    assert made.status_code == 200, made.content
    url: str = made.json()["url"]
    assert url.startswith("http://testserver/reports/")
    return url.removeprefix("http://testserver")


def test_a_report_is_one_page_that_loads_nothing(
    api: Api, alice: User, completed: Backtest
) -> None:
    answer = api(alice).get(path(completed))
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/html; charset=utf-8"
    text = answer.content.decode()
    assert not re.search(r"<(?:link|img|iframe|script)[^>]*(?:src|href)=", text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in text
    assert "<script>alert" not in text
    performance = completed.performance
    assert performance is not None
    assert completed.receipt is not None
    assert f"{performance['winningTrades']} of {performance['totalTrades']}" in text
    assert completed.receipt["result"] in text
    for heading in (
        "Returns by month",
        "Worst drawdowns",
        "Returns of trades",
        "By hour of the entry",
        "By weekday of the entry",
        "Charges",
    ):
        assert f"<h2>{heading}</h2>" in text
    for term in ("CAGR", "Max drawdown", "Win rate", "Expectancy", "Exposure", "By exit reason"):
        assert term in text


def test_a_report_has_its_curve_its_figures_and_its_first_trades_without_a_script(
    api: Api, alice: User, completed: Backtest
) -> None:
    text = api(alice).get(path(completed)).content.decode()
    text = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    names = re.findall(r"<dt>(.*?)</dt>", text)
    assert names[:8] == [
        "Net profit",
        "CAGR",
        "Max drawdown",
        "Sharpe ratio, annual",
        "Win rate",
        "Profit factor",
        "Trades",
        "Charges",
    ]
    assert re.search(r'<path class="line equity" d="M0\.0 ', text)
    assert '<path class="line benchmark"' in text
    performance = completed.performance
    assert performance is not None
    shown = min(25, performance["totalTrades"])
    assert text.count('<tr><th scope="row">') == shown > 1
    for name, metric in (
        ("Sharpe ratio per trade", "sharpeRatio"),
        ("Sharpe ratio, annual", "sharpeRatioAnnualized"),
    ):
        value = format_number(performance[metric])
        assert re.search(rf"<th>{name}<span.*?<td>{value}</td>", text)


def test_a_report_without_a_name_is_titled_by_the_algorithm(
    api: Api, alice: User, completed: Backtest
) -> None:
    completed.name = ""
    completed.save()
    completed.algorithm.name = "Crossing <averages>"
    completed.algorithm.save()
    text = api(alice).get(path(completed)).content.decode()
    assert "<h1>Crossing &lt;averages&gt;</h1>" in text
    assert "<title>Crossing &lt;averages&gt;, 2024-02-01 to 2024-02-29</title>" in text


def test_a_few_notes_lead_and_many_are_folded(api: Api, alice: User, completed: Backtest) -> None:
    notes = [{"code": "adjusted_prices", "message": f"Note {number}."} for number in range(5)]
    for held, folded in ((notes[:3], None), (notes[:4], "1 more note<"), (notes, "2 more notes<")):
        assert completed.receipt is not None
        completed.receipt["notes"] = held
        completed.save()
        ReportPage.objects.all().delete()  # a result changes in tests alone
        text = api(alice).get(path(completed)).content.decode()
        assert re.findall(r"Note \d", text) == [note["message"][:-1] for note in held]
        assert text.count('<p class="notice warning">Note') == 3
        assert folded is None or folded in text
        assert ('<details class="notice warning">' in text) == (folded is not None)


def test_the_reports_security_policy_allows_only_its_own_scripts(
    api: Api, alice: User, completed: Backtest
) -> None:
    policy = api(alice).get(path(completed))["Content-Security-Policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-\S+' 'sha256-\S+'", rules["script-src"])
    assert re.fullmatch(r"'sha256-\S+'", rules["style-src"])
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "allow-same-origin" not in rules["sandbox"]


class Study(NamedTuple):
    """A study, and the counts of certain words on its page."""

    kind: BacktestKind
    configs: StudyConfigs
    counts: dict[str, int]


PARAMETER = {
    "path": "entryConditions.conditions[0].indicator1.period",
    "from": 5,
    "to": 9,
    "step": 2,
}
STUDIES = [
    Study(
        BacktestKind.OPTIMIZATION,
        {"optimizationConfig": {"objective": "netProfit", "parameters": [PARAMETER]}},
        {
            # beside the title, the metrics, the equity and the trades
            "In-sample: the best of 3 parameter sets": 4,
            'optimization">In-sample</span>': 1,
            # in the table, and in the drawing's name and caption
            "Entry condition 1 indicator 1 period": 3,
        },
    ),
    Study(
        BacktestKind.WALK_FORWARD,
        {"walkForwardConfig": {"objective": "winRate", "windows": 2, "parameters": [PARAMETER]}},
        {
            "Out-of-sample: test days only": 4,
            "In-sample: training days": 1,
            "Out-of-sample: test days": 5,
            "Entry condition 1 indicator 1 period": 1,
        },
    ),
    Study(BacktestKind.MONTE_CARLO, {"monteCarloConfig": {"runs": 10}}, {"Risk of ruin": 1}),
]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.kind)
def test_a_study_gives_the_days_of_its_figures(
    api: Api, alice: User, completed: Backtest, study: Study
) -> None:
    backtest = submit(alice, completed.algorithm_id, kind=study.kind, configs=study.configs)
    run_queued()
    text = api(alice).get(path(backtest)).content.decode()
    assert {words: text.count(words) for words in study.counts} == study.counts
    verdict, drawing, figures = (
        text.index(mark) for mark in (VERDICT, '<div class="plot"', FIGURES)
    )
    assert verdict < drawing < figures


def test_the_report_of_a_study_without_a_stored_chart_has_its_text(
    api: Api, alice: User, completed: Backtest
) -> None:
    study = STUDIES[0]
    backtest = submit(alice, completed.algorithm_id, kind=study.kind, configs=study.configs)
    run_queued()
    BacktestResult.objects.filter(pk=backtest.pk).update(study_chart=None)
    text = api(alice).get(path(backtest)).content.decode()
    assert "of the best of 3 sets, in-sample" in text
    assert text.count('<div class="plot"') == 1  # of the equity


def test_the_report_begins_with_the_verdict_once_it_exists(
    api: Api, alice: User, completed: Backtest
) -> None:
    """Reading the report requests no evidence; finished evidence is on the next page."""
    text = api(alice).get(path(completed)).content.decode()
    assert "Verdict: not checked yet" in text
    assert f"GET /api/backtests/{completed.pk}/evidence" in text
    assert not Evidence.objects.exists()
    api(alice).get(path(completed, "evidence"))
    assert "The checks are running" in api(alice).get(path(completed)).content.decode()
    tasks.run_evidence_job(completed.pk)
    document = api(alice).get(path(completed, "evidence")).json()
    text = api(alice).get(path(completed)).content.decode()
    assert text.index(VERDICT) < text.index(FIGURES)
    passes = document["verdict"]["passes"]
    assert ("Verdict: passed" if passes else "Verdict: not proven") in text
    for check in document["checks"]:
        assert escape(check["reason"]) in text
    for name, section in document["sections"].items():
        assert f'id="evidence-{name}"' in text
        assert escape(section["sentence"]) in text
        assert all(escape(sentence) in text for sentence in section["notLookedAt"])


def test_evidence_is_drawn_without_a_script(api: Api, alice: User, completed: Backtest) -> None:
    api(alice).get(path(completed, "evidence"))
    tasks.run_evidence_job(completed.pk)
    text = api(alice).get(path(completed)).content.decode()
    section = text[text.index('<section class="card" id="evidence">') :]
    section = section[: section.index("</section>")]
    labels = re.findall(r'role="img" aria-label="([^"]+)"', section)
    assert "From the profit before costs to the net profit" in labels
    assert len(labels) == section.count("<figcaption") >= 4
    assert "<script" not in section


def test_the_report_says_why_evidence_failed(api: Api, alice: User, completed: Backtest) -> None:
    api(alice).get(path(completed, "evidence"))
    Evidence.objects.update(
        status=EvidenceStatus.FAILED, error={"code": "X", "message": "Candles have changed."}
    )
    text = api(alice).get(path(completed)).content.decode()
    assert "Verdict: the checks failed to run" in text
    assert "Candles have changed." in text


@pytest.mark.parametrize("accept", ["application/json", "text/html;q=0", "image/png"])
def test_another_accept_header_is_refused(
    api: Api, alice: User, completed: Backtest, accept: str
) -> None:
    answer = api(alice).get(path(completed), headers={"Accept": accept})
    assert_error(answer, 406, "VALIDATION_ERROR", reason="not_acceptable")


@pytest.mark.parametrize("verb", ["get", "post"])
def test_only_a_completed_backtest_has_a_report(
    api: Api, alice: User, completed: Backtest, verb: str
) -> None:
    queued = submit(alice, completed.algorithm_id)
    below = "report" if verb == "get" else "report-link"
    answer = getattr(api(alice), verb)(path(queued, below), headers={"Accept": "*/*"})
    states = {"currentStatus": "queued", "requiredStatus": "completed"}
    assert_error(answer, 422, "UNPROCESSABLE_ENTITY", **states)


def test_a_link_opens_the_report_without_a_token(
    api: Api, alice: User, completed: Backtest
) -> None:
    made = api(alice).post(path(completed, "report-link")).json()
    lasts = datetime.fromisoformat(made["expiresAt"]) - timezone.now()
    assert timedelta(hours=23, minutes=59) < lasts <= timedelta(hours=24)
    page = api().get(made["url"])
    assert page.status_code == 200
    assert page["Content-Type"] == "text/html; charset=utf-8"
    assert (page["Cache-Control"], page["Referrer-Policy"]) == ("no-store", "no-referrer")
    assert "Content-Security-Policy" in page
    assert "X-RateLimit-Limit" not in page
    assert_error(api().post(made["url"]), 405, "VALIDATION_ERROR")


def test_an_invalid_link_opens_nothing(api: Api, alice: User, completed: Backtest) -> None:
    good = address(api, alice, completed)
    wrong = good[:-1] + ("a" if good[-1] != "a" else "b")
    other = good.replace(ReportLink.objects.get().pk, "0" * 24)
    for bad in (wrong, other, good + "x", "/reports/x", "/reports/" + "." * 3, "/reports/%00"):
        assert_error(api().get(bad), 404, "NOT_FOUND")
    tomorrow = timezone.now() + timedelta(hours=24, seconds=1)
    with patch("django.utils.timezone.now", return_value=tomorrow):
        assert_error(api().get(good), 404, "NOT_FOUND")
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert_error(api().get(good), 404, "NOT_FOUND")
    User.objects.filter(pk=alice.pk).update(is_active=True)
    services.delete(owner=alice, backtest_id=completed.pk, now=make.NOW)
    refused = api().get(good)
    assert_error(refused, 404, "NOT_FOUND")
    assert refused["Cache-Control"] == "no-store"


def test_a_repeated_key_gets_the_same_link_and_the_link_is_stored_encrypted(
    api: Api, alice: User, completed: Backtest
) -> None:
    key = {"Idempotency-Key": "k"}
    client = api(alice)
    first, again = (client.post(path(completed, "report-link"), headers=key) for _ in range(2))
    assert first.json() == again.json()
    assert again["Idempotent-Replayed"] == "true"
    stored = bytes(IdempotencyKey.objects.get().body or b"")
    assert b"reports" not in stored


def test_an_unreadable_stored_response_is_a_conflict(
    api: Api, alice: User, completed: Backtest, settings: object
) -> None:
    key = {"Idempotency-Key": "k"}
    client = api(alice)
    assert client.post(path(completed, "report-link"), headers=key).status_code == 200
    IdempotencyKey.objects.update(body=b"encrypted by another")
    again = client.post(path(completed, "report-link"), headers=key)
    assert_error(again, 409, "CONFLICT")


def test_links_are_not_logged(
    api: Api, alice: User, completed: Backtest, service_log: pytest.LogCaptureFixture
) -> None:
    good = address(api, alice, completed)
    api().get(good)
    assert "GET /reports/\\u2026 200" in service_log.text
    assert good.rpartition(".")[2] not in service_log.text


def test_a_result_without_trades_or_candles_has_a_report(
    api: Api, alice: User, completed: Backtest
) -> None:
    completed.result.blocks.all().delete()
    Backtest.objects.filter(pk=completed.pk).update(
        symbols=["NSE:GONE"], timeframe="1d", status=BacktestStatus.COMPLETED
    )
    answer = api(alice).get(path(completed))
    assert answer.status_code == 200
    assert "No trades." in answer.content.decode()


# Made once.


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the backtests whose pages are rendered, in order."""
    names: list[str] = []

    def counted(backtest: Backtest, *, now: datetime) -> tuple[dict[str, Any], dict[str, Any]]:
        names.append(backtest.name)
        return report_context(backtest, now=now)

    monkeypatch.setattr("apps.backtests.analysis.report.page.report_context", counted)
    return names


def test_a_report_is_rendered_once_for_all_readers(
    api: Api, alice: User, completed: Backtest, made: list[str]
) -> None:
    client, link = api(alice), address(api, alice, completed)
    pages = [client.get(path(completed)), api().get(link), client.get(path(completed))]
    assert made == [NAME]
    assert [page.status_code for page in pages] == [200] * 3
    assert pages[0].content == pages[1].content == pages[2].content
    assert len(bytes(ReportPage.objects.get().html)) == ReportPage.objects.get().size < 200_000


def test_a_report_is_made_again_when_a_name_in_it_or_the_release_changes(
    api: Api, alice: User, completed: Backtest, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = api(alice)
    client.get(path(completed))
    services.update_backtest(owner=alice, backtest_id=completed.pk, name="Second", now=make.NOW)
    assert "<h1>Second</h1>" in client.get(path(completed)).content.decode()
    algorithm = completed.algorithm
    algorithm.name = "Another"
    algorithm.save()
    for _ in range(2):
        client.get(path(completed))
    assert made == [NAME, "Second", "Second"]
    monkeypatch.setattr(page_cache, "_release", lambda: "the next one")
    client.get(path(completed))
    assert len(made) == 4
    assert ReportPage.objects.count() == 1


def test_head_makes_no_page(
    api: Api, alice: User, bob: User, completed: Backtest, made: list[str]
) -> None:
    link = address(api, alice, completed)
    for answer in (api(alice).head(path(completed)), api().head(link)):
        assert answer.status_code == 200
        assert answer["Content-Type"] == "text/html; charset=utf-8"
        assert "Content-Security-Policy" in answer
        assert "Content-Length" not in answer
        assert b"".join(answer) == b""
    assert api().head("/reports/unknown").status_code == 404
    assert api(bob).head(path(completed)).status_code == 404
    assert made == []
    assert not ReportPage.objects.exists()


def test_a_kept_page_goes_with_its_backtest(api: Api, alice: User, completed: Backtest) -> None:
    api(alice).get(path(completed))
    services.delete(owner=alice, backtest_id=completed.pk, now=make.NOW)
    assert not ReportPage.objects.exists()


def test_the_oldest_pages_go_when_they_are_too_large_together(
    alice: User, completed: Backtest, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = [submit(alice, completed.algorithm_id) for _ in range(4)]
    Backtest.objects.filter(pk__in=[other.pk for other in newer]).update(
        status=BacktestStatus.COMPLETED, performance={}
    )
    for day, other in enumerate(newer):
        ReportPage.objects.create(
            backtest=other, html=b"", size=400, made_at=make.NOW + timedelta(days=day)
        )
    page_cache.read(completed.pk, now=make.NOW + timedelta(days=9))
    assert ReportPage.objects.count() == 5
    size = ReportPage.objects.get(pk=completed.pk).size
    monkeypatch.setattr(page_cache, "MAX_CACHE_BYTES", size + 1000)
    ReportPage.objects.get(pk=completed.pk).delete()
    page_cache.read(completed.pk, now=make.NOW + timedelta(days=9))
    kept = ReportPage.objects.order_by("made_at").values_list("pk", flat=True)
    assert list(kept) == [newer[2].pk, newer[3].pk, completed.pk]


# Links.


def test_links_are_listed_newest_first_until_they_end(
    api: Api, alice: User, completed: Backtest
) -> None:
    client = api(alice)
    links = []
    for hours in (0, 1, 2):
        at = timezone.now() + timedelta(hours=hours)
        link = report_services.share_report(owner=alice, backtest_id=completed.pk, now=at)
        links.append(link.pk)
    listed = client.get(path(completed, "report-links")).json()
    assert [link["id"] for link in listed["data"]] == links[::-1]
    assert listed["pagination"] == {"page": 1, "limit": 20, "total": 3, "totalPages": 1}
    second = client.get(path(completed, "report-links?page=2&limit=2")).json()
    assert [link["id"] for link in second["data"]] == links[:1]
    ReportLink.objects.filter(pk=links[0]).update(expires_at=timezone.now())
    remaining = client.get(path(completed, "report-links")).json()["data"]
    assert [link["id"] for link in remaining] == links[:0:-1]


def test_a_recalled_link_looks_like_an_unknown_one(
    api: Api, alice: User, completed: Backtest
) -> None:
    client = api(alice)
    first, second = (client.post(path(completed, "report-link")).json() for _ in range(2))
    assert first["url"] != second["url"]
    link = path(completed, f"report-links/{first['id']}")
    assert client.delete(link).status_code == 204
    unknown = api().get("/reports/unknown").json()["error"]
    refused = api().get(first["url"]).json()["error"]
    assert refused | {"requestId": ""} == unknown | {"requestId": ""}
    assert api().get(second["url"]).status_code == 200
    assert client.get(path(completed, "report-links")).json()["data"] == [second]
    assert_error(client.delete(link), 404, "NOT_FOUND")


def test_report_links_belong_to_their_owner_and_backtest(
    api: Api, alice: User, bob: User, completed: Backtest
) -> None:
    client = api(alice)
    link = client.post(path(completed, "report-link")).json()
    other = submit(alice, completed.algorithm_id)
    stranger = api(bob)
    assert_error(stranger.get(path(completed, "report-links")), 404, "BACKTEST_NOT_FOUND")
    below = f"report-links/{link['id']}"
    assert_error(stranger.delete(path(completed, below)), 404, "BACKTEST_NOT_FOUND")
    assert_error(client.delete(path(other, below)), 404, "NOT_FOUND")
    assert_error(client.delete(path(completed, "report-links/x")), 404, "NOT_FOUND")
    assert api().get(link["url"]).status_code == 200


def test_expired_links_are_deleted_at_night(api: Api, alice: User, completed: Backtest) -> None:
    address(api, alice, completed)
    ends = ReportLink.objects.get().expires_at
    assert retention.purge(now=ends - timedelta(seconds=1)) == 0
    assert retention.purge(now=ends) == 1
    assert not ReportLink.objects.exists()
