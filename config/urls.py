"""Every route of the service on one screen. No path ends in a slash."""

from django.contrib import admin
from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.accounts.views import (
    EmailViewSet,
    EntryViewSet,
    ExportViewSet,
    KeyViewSet,
    LimitViewSet,
    LogOutViewSet,
    PasswordViewSet,
    ProfileViewSet,
    ProofViewSet,
    RefreshViewSet,
    ResetViewSet,
    SecurityLogViewSet,
    SessionViewSet,
    TwoFactorViewSet,
)
from apps.alerts.views import AlertHookViewSet, IncomingAlertViewSet, ReceivedAlertViewSet
from apps.algorithms.views import (
    AlgorithmViewSet,
    IndicatorViewSet,
    PerformanceViewSet,
    TemplateViewSet,
)
from apps.backtests.analysis.chart.views import ChartViewSet
from apps.backtests.analysis.comparison.views import ComparisonViewSet
from apps.backtests.analysis.evidence.views import EvidenceViewSet
from apps.backtests.analysis.explanation.views import ExplanationViewSet
from apps.backtests.analysis.report.views import ReportLinkViewSet, ReportViewSet, shared_report
from apps.backtests.analysis.reproduction.views import ReproductionViewSet
from apps.backtests.analysis.what_if.views import WhatIfViewSet
from apps.backtests.views import BacktestViewSet
from apps.console.account import mail_links
from apps.console.home import home
from apps.market.feeds.views import CandlesViewSet
from apps.market.uploads.views import CandleFileViewSet, MasterViewSet
from apps.market.views import MarketViewSet, RulebookViewSet
from apps.ops.api_document import docs
from apps.ops.monitoring import health, metrics
from apps.symbols.views import SymbolViewSet
from apps.trading.activity.drift.views import DriftViewSet
from apps.trading.activity.event_stream.views import EventStreamViewSet
from apps.trading.activity.run_explanation.views import RunExplanationViewSet
from apps.trading.activity.views import ActivityViewSet, OrderViewSet, StandingViewSet
from apps.trading.views import AccountViewSet, KillSwitchViewSet, RunViewSet
from apps.webhooks.views import DeliveryViewSet, NoticesViewSet, WebhookViewSet

# Resources with routes from the methods of their views.
router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("api/trading/algorithms", AlgorithmViewSet, basename="algorithm")
router.register("api/trading/algorithms", RunViewSet, basename="run")
router.register("api/trading/algorithms", ActivityViewSet, basename="activity")
router.register("api/trading/algorithms", DriftViewSet, basename="drift")
router.register("api/trading/algorithms", RunExplanationViewSet, basename="run-explanation")
router.register("api/trading/standings", StandingViewSet, basename="standing")
router.register("api/trading/orders", OrderViewSet, basename="order")
router.register("api/trading/alert-hooks", AlertHookViewSet, basename="alert-hook")
router.register("api/trading/alerts", ReceivedAlertViewSet, basename="received-alert")
router.register("api/algorithms", PerformanceViewSet, basename="performance")
router.register("api/trading/templates", TemplateViewSet, basename="template")
router.register("api/trading/indicators", IndicatorViewSet, basename="indicator")
router.register("api/backtests", BacktestViewSet, basename="backtest")

router.register("api/auth/keys", KeyViewSet, basename="key")
router.register("api/webhooks", WebhookViewSet, basename="webhook")
router.register("api/webhooks/deliveries", DeliveryViewSet, basename="delivery")

urlpatterns = [
    path("api/webhooks/email", NoticesViewSet.as_view({"get": "retrieve", "put": "update"})),
    path("api/backtests/compare", ComparisonViewSet.as_view({"get": "retrieve"})),
    *router.urls,
    path("", docs.root),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics.metrics),
    path("openapi.json", docs.openapi_document, name="openapi"),
    path("docs", docs.page),
    path("docs/openapi.json", docs.openapi_document_for_page, name="openapi-for-page"),
    path("docs/webhooks", docs.webhooks),
    path("admin/", admin.site.urls),
    path("app", home),
    path("app/", include("apps.console.urls")),
    # Accounts.
    path("api/auth/signup", EntryViewSet.as_view({"post": "sign_up"})),
    path("api/auth/login", EntryViewSet.as_view({"post": "log_in"})),
    path("api/auth/refresh-token", RefreshViewSet.as_view({"post": "refresh"})),
    path("api/auth/logout", LogOutViewSet.as_view({"post": "log_out"})),
    path(
        "api/auth/profile",
        ProfileViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
    ),
    path("api/auth/export", ExportViewSet.as_view({"post": "create"})),
    path("api/auth/export/<str:export_id>", ExportViewSet.as_view({"get": "retrieve"})),
    path("api/auth/export/<str:export_id>/archive", ExportViewSet.as_view({"get": "archive"})),
    path("api/auth/password", PasswordViewSet.as_view({"post": "create"})),
    path("api/auth/password-reset", ResetViewSet.as_view({"post": "create"})),
    path("api/auth/proof", ProofViewSet.as_view({"post": "create"})),
    path("api/auth/verification", EmailViewSet.as_view({"post": "send_verification"})),
    path("api/auth/email", EmailViewSet.as_view({"post": "change"})),
    path("api/auth/limits", LimitViewSet.as_view({"get": "retrieve"})),
    path("api/auth/activity", SecurityLogViewSet.as_view({"get": "list"})),
    path(
        "api/auth/two-factor",
        TwoFactorViewSet.as_view({"get": "retrieve", "post": "begin", "delete": "destroy"}),
    ),
    path("api/auth/two-factor/confirm", TwoFactorViewSet.as_view({"post": "confirm"})),
    path("api/auth/two-factor/recovery-codes", TwoFactorViewSet.as_view({"post": "renew_codes"})),
    # The pages behind links in mails.
    path("account/verify/<str:token>", mail_links.verification_page),
    path("account/reset/<str:token>", mail_links.reset_page),
    path("account/address/<str:token>", mail_links.address_page),
    path("api/auth/sessions", SessionViewSet.as_view({"get": "list", "delete": "destroy_all"})),
    path("api/auth/sessions/<str:session_id>", SessionViewSet.as_view({"delete": "destroy"})),
    # Symbols.
    path("api/symbols/validate", SymbolViewSet.as_view({"post": "validate"})),
    path("api/symbols/search", SymbolViewSet.as_view({"get": "search"})),
    path("api/symbols/<str:symbol>", SymbolViewSet.as_view({"get": "retrieve"})),
    # Market.
    path("api/market/candles", CandlesViewSet.as_view({"get": "candles", "post": "receive"})),
    path("api/market/coverage", MarketViewSet.as_view({"get": "coverage"})),
    path("api/market/candle-files", CandleFileViewSet.as_view({"post": "create"})),
    path("api/market/masters", MasterViewSet.as_view({"post": "create"})),
    path("api/market/series", MarketViewSet.as_view({"get": "series"})),
    path("api/market/sessions", RulebookViewSet.as_view({"get": "sessions"})),
    path("api/market/charges", RulebookViewSet.as_view({"get": "charges"})),
    path("api/market/charge-rates", RulebookViewSet.as_view({"get": "charge_rates"})),
    # Alerts of other programs.
    path("hooks/<str:secret>", IncomingAlertViewSet.as_view({"post": "receive"})),
    # Trading.
    path("api/events", EventStreamViewSet.as_view({"get": "stream"})),
    path("api/trading/account", AccountViewSet.as_view({"get": "retrieve"})),
    path("api/trading/account/reset", AccountViewSet.as_view({"post": "reset"})),
    path(
        "api/trading/kill-switch",
        KillSwitchViewSet.as_view({"get": "retrieve", "post": "engage", "delete": "release"}),
    ),
    # Backtests.
    path("api/backtests/<str:backtest_id>/evidence", EvidenceViewSet.as_view({"get": "retrieve"})),
    path("api/backtests/<str:backtest_id>/report", ReportViewSet.as_view({"get": "retrieve"})),
    path(
        "api/backtests/<str:backtest_id>/report-link",
        ReportLinkViewSet.as_view({"post": "create"}),
    ),
    path(
        "api/backtests/<str:backtest_id>/report-links",
        ReportLinkViewSet.as_view({"get": "list"}),
    ),
    path(
        "api/backtests/<str:backtest_id>/report-links/<str:link_id>",
        ReportLinkViewSet.as_view({"delete": "destroy"}),
    ),
    path("api/backtests/<str:backtest_id>/what-if", WhatIfViewSet.as_view({"post": "create"})),
    path(
        "api/backtests/<str:backtest_id>/receipt",
        ReproductionViewSet.as_view({"get": "receipt"}),
    ),
    path(
        "api/backtests/<str:backtest_id>/reproduce",
        ReproductionViewSet.as_view({"post": "create"}),
    ),
    path(
        "api/backtests/<str:backtest_id>/reproduction",
        ReproductionViewSet.as_view({"get": "retrieve"}),
    ),
    path("api/backtests/<str:backtest_id>/chart", ChartViewSet.as_view({"get": "retrieve"})),
    path(
        "api/backtests/<str:backtest_id>/explain",
        ExplanationViewSet.as_view({"get": "retrieve"}),
    ),
    path("reports/<str:signed>", shared_report),
]

handler400 = "apps.core.api.exceptions.bad_request"
handler404 = "apps.core.api.exceptions.not_found"
handler500 = "apps.core.api.exceptions.server_error"
