"""The metrics of the service, in Prometheus's text format.

Each web process counts requests in its own file, and the process that serves `/metrics` adds the
files up: prometheus_client's multiprocess mode, in a directory that `up` creates. Metrics from the
database are read on request.
"""

import collections
import logging
import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Final

from django.conf import settings
from django.db import Error
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, values
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from apps.backtests.models import Backtest, BacktestStatus
from apps.core import database, jobs, requests
from apps.core.api.resources import public_page
from apps.core.requests import client_address
from apps.market.rulebook import current_rule_set, is_open
from apps.ops.models import SILENCE, ServiceProcess
from apps.ops.monitoring.backlog import Backlog, QueueBacklog, read_backlog
from apps.ops.processes.worker import QUEUES

log = logging.getLogger(__name__)

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# The label of values that clients choose freely: labels without bound would fill the memory.
OTHER: Final = "other"
# Seconds; a client may ask to wait for up to thirty.
BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
PARAMETER: Final = re.compile(r"<(?:\w+:)?(\w+)>")

REGISTRY: Final = CollectorRegistry()
REQUESTS: Final = Counter(
    "algotrade_http_requests",
    "Requests answered, by route, method and status.",
    ("route", "method", "status"),
    registry=REGISTRY,
)
SECONDS: Final = Histogram(
    "algotrade_http_request_seconds",
    "Time from a request to its answer, by route.",
    ("route",),
    buckets=BUCKETS,
    registry=REGISTRY,
)


class MetricsMiddleware:
    """Count every request under its route, including those answered by other middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        begun = time.monotonic()
        response = self.get_response(request)
        try:
            _count(request, response.status_code, seconds=time.monotonic() - begun)
        except OSError as error:  # no room, or no descriptor, for the files of this process
            log.error("a request is not counted: %s", error)
        return response


def _count(request: HttpRequest, status: int, *, seconds: float) -> None:
    route = _route_of(request)
    method = request.method if request.method in METHODS else OTHER
    REQUESTS.labels(route, method, status).inc()
    SECONDS.labels(route).observe(seconds)


def _route_of(request: HttpRequest) -> str:
    """Return the route as `/api/backtests/{backtest_id}`, or OTHER when none matched."""
    match = request.resolver_match
    return _template(match.route) if match else OTHER


@cache
def _template(route: str) -> str:
    return "/" + PARAMETER.sub(r"{\1}", route)


@public_page
def metrics(request: HttpRequest) -> HttpResponse:
    """Serve `/metrics` to the addresses that METRICS_ALLOW names, and a 404 to others."""
    if not is_allowed(request):
        raise Http404
    current = CollectorRegistry()
    current.register(ServiceCollector())
    body = generate_latest(_request_metrics()) + generate_latest(current)
    return HttpResponse(body, content_type=CONTENT_TYPE_LATEST)


def is_allowed(request: HttpRequest) -> bool:
    """Return whether METRICS_ALLOW includes the client, which may then read internals of the
    service.

    A forwarded request has no known client unless a trusted proxy names it: a proxy on this machine
    would otherwise publish the page.
    """
    address = requests.current_origin().address
    peer = client_address(request.META.get("REMOTE_ADDR", ""), "", settings.TRUSTED_PROXIES)
    if address is None or (address == peer and requests.is_forwarded(request)):
        return False
    allowed: list[IPv4Network | IPv6Network] = settings.METRICS_ALLOW
    return any(ip_address(address) in network for network in allowed)


def _request_metrics() -> CollectorRegistry:
    """Return the counts of all web processes, or of this one when they share no directory."""
    if values.ValueClass is values.MutexValue:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # the library left it untyped
    return registry


class ServiceCollector(Collector):
    """The present state of the database, and of the processes and queues in it."""

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("algotrade_database_up", "Whether the database answers.")
        try:
            database.compare_clocks()
            metrics = [
                _jobs(),
                _backtests(),
                _oldest_queued(now=database.now()),
                *_backlog(read_backlog()),
                *_processes(),
                _open_market(database.now()),
            ]
            up.add_metric([], 1)
        except Error:
            metrics = []
            up.add_metric([], 0)
        yield from (up, *metrics)


def _jobs() -> Metric:
    counts = jobs.counts()
    metric = GaugeMetricFamily(
        "algotrade_jobs", "Jobs of the queues, by queue and state.", labels=("queue", "state")
    )
    for queue in QUEUES:
        for state in jobs.JobState:
            metric.add_metric([queue, state.name.lower()], counts.get((queue, state.value), 0))
    return metric


def _backtests() -> Metric:
    counts = Backtest.objects.count_by_status()
    metric = GaugeMetricFamily("algotrade_backtests", "Backtests by status.", labels=("status",))
    for status in BacktestStatus:
        metric.add_metric([status], counts.get(status, 0))
    return metric


def _backlog(backlog: Backlog) -> Iterator[Metric]:
    waiting = GaugeMetricFamily(
        "algotrade_queue_waiting", "Jobs that could run now, by queue.", labels=("queue",)
    )
    oldest = GaugeMetricFamily(
        "algotrade_queue_oldest_seconds",
        "For how long the oldest of them waits.",
        labels=("queue",),
    )
    stalled = GaugeMetricFamily(
        "algotrade_queue_stalled", "Jobs of workers that have stopped reporting.", labels=("queue",)
    )
    for queue in QUEUES:
        counts = backlog.queues.get(queue, QueueBacklog(0, 0.0, 0))
        waiting.add_metric([queue], counts.waiting)
        oldest.add_metric([queue], counts.oldest_seconds)
        stalled.add_metric([queue], counts.stalled)
    yield from (waiting, oldest, stalled)
    text = "Deliveries of webhooks that are due."
    yield GaugeMetricFamily("algotrade_deliveries_due", text, value=backlog.deliveries_due)
    text = "For how long the bars of the stream that waits longest are due."
    yield GaugeMetricFamily("algotrade_live_bar_lag_seconds", text, value=backlog.bar_lag)
    if backlog.feed_age is not None:
        text = "Time since a bar came in."
        yield GaugeMetricFamily("algotrade_feed_age_seconds", text, value=backlog.feed_age)


def _open_market(now: datetime) -> Metric:
    return GaugeMetricFamily(
        "algotrade_market_open",
        "Whether shares of NSE trade now, by the rulebook: 1 or 0.",
        value=is_open(current_rule_set(), "NSE", "other_shares", now),
    )


def _processes() -> Iterator[Metric]:
    known = list(ServiceProcess.objects.known())
    counts = collections.Counter((process.role, process.silent_for > SILENCE) for process in known)
    metric = GaugeMetricFamily(
        "algotrade_processes",
        "Processes of all machines, by role and by whether they are heard of.",
        labels=("role", "state"),
    )
    for (role, is_silent), count in sorted(counts.items()):
        metric.add_metric([role, "silent" if is_silent else "alive"], count)
    yield metric
    build = GaugeMetricFamily(
        "algotrade_build_info", "Version and key of this process.", labels=("version", "key")
    )
    build.add_metric([settings.VERSION, database.key_fingerprint(settings.SECRET_KEY)], 1)
    yield build
    text = "The seconds by which this machine's clock is ahead of the database's, if it is wrong."
    ahead = database.machine_clock.seconds_ahead
    yield GaugeMetricFamily("algotrade_clock_ahead_seconds", text, value=ahead)


def _oldest_queued(*, now: datetime) -> Metric:
    since = Backtest.objects.queued_since()
    return GaugeMetricFamily(
        "algotrade_backtest_oldest_queued_seconds",
        "For how long the oldest queued backtest waits; 0 when none does.",
        value=(now - since).total_seconds() if since else 0,
    )
