"""Evidence on a completed backtest: requested, made by a job, and read."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction

from apps.accounts.models import User
from apps.backtests.models import (
    EVIDENCE_ENDED_CHANNEL,
    Backtest,
    Evidence,
    EvidenceStatus,
    EvidenceTransition,
)
from apps.backtests.running import queue, results
from apps.core import jobs
from apps.core.times import day_in_india, day_number
from apps.engine.evidence import charges_as_of_section
from apps.engine.language import parse
from apps.market.services import market_rules_of

# A request retries failed evidence after this time.
RETRY_FAILED_AFTER: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class RequestedEvidence:
    """Evidence in its present state.

    `document` has the section `chargesAsOf` for the requested date; it is None before the evidence
    is ready.
    """

    evidence: Evidence
    document: dict[str, Any] | None


def fetch_evidence(*, owner: User, backtest_id: str, now: datetime) -> Evidence:
    """Return the evidence on a backtest of the user; request it if there is none.

    Raises BacktestNotFound, NotCompleted.
    """
    backtest = results.fetch_completed(owner=owner, backtest_id=backtest_id)
    return _request(backtest, now=now)


def stored(backtest: Backtest) -> Evidence | None:
    """Return the evidence on a backtest in its present state; None if it was never requested."""
    return Evidence.objects.filter(backtest=backtest).first()


@transaction.atomic
def _request(backtest: Backtest, *, now: datetime) -> Evidence:
    """Return the row, queued if it is new. A lost job is enqueued again."""
    evidence, _ = Evidence.objects.get_or_create(
        backtest=backtest, defaults={"status": EvidenceStatus.QUEUED, "requested_at": now}
    )
    failed_before = Evidence.objects.filter(
        pk=backtest.pk, requested_at__lt=now - RETRY_FAILED_AFTER
    )
    if evidence.status == EvidenceStatus.FAILED and failed_before.transition(
        EvidenceTransition.RETRY, requested_at=now, error=None, completed_at=None
    ):
        evidence.refresh_from_db()
    if evidence.status == EvidenceStatus.QUEUED:
        jobs.enqueue_once(
            queue.EVIDENCE_JOB,
            queue=queue.QUEUE,
            lock=f"{queue.EVIDENCE_JOB} {backtest.pk}",
            arguments={"backtest_id": backtest.pk},
            priority=1,  # before the slots of a study, of which there are many
        )
    return evidence


def dated_evidence(evidence: Evidence, *, as_of: date | None, now: datetime) -> RequestedEvidence:
    """Return the evidence with its trades charged by the rules of a date, by default today."""
    if evidence.document is None or evidence.fills is None:
        return RequestedEvidence(evidence, None)
    backtest, day = evidence.backtest, as_of or day_in_india(int(now.timestamp()))
    rules = market_rules_of(parse(backtest.configuration), first=day, last=day)
    section = charges_as_of_section(
        results.unpack_array(evidence.fills),
        rules.schedule,
        backtest.symbols,
        [rules.segment(symbol) for symbol in backtest.symbols],
        day=day_number(day),
        gross=float((backtest.performance or {})["grossProfit"]),
    )
    document = {**evidence.document}
    document["sections"] = {**document["sections"], section.name: section.as_json()}
    return RequestedEvidence(evidence, document)


def begin(backtest_id: str) -> Evidence | None:
    """Return the evidence for a job to make; None if it is made or no longer wanted.

    Evidence that a lost worker had begun is begun again.
    """
    if not Evidence.objects.filter(pk=backtest_id).transition(EvidenceTransition.BEGIN):
        return None
    return Evidence.objects.select_related("backtest").get(pk=backtest_id)


@transaction.atomic
def record_end(evidence: Evidence, *, now: datetime, **result: Any) -> None:
    """Record the document with its fills, or the error, and notify waiting clients.

    The certificate of the look-ahead joins the receipt.
    """
    document = result.get("document")
    end = EvidenceTransition.COMPLETE if document else EvidenceTransition.FAIL
    if Evidence.objects.filter(pk=evidence.pk).transition(end, completed_at=now, **result):
        if document:
            certificate = document["sections"]["lookAhead"]["figures"]["certificate"]
            receipt = {**(evidence.backtest.receipt or {}), "lookAhead": certificate}
            Backtest.objects.filter(pk=evidence.pk).update(receipt=receipt)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [EVIDENCE_ENDED_CHANNEL, evidence.pk])
