"""Every route of the service on one screen. No path ends in a slash."""

from django.contrib import admin
from django.urls import path

from apps.accounts import views as accounts
from apps.algorithms import views as algorithms
from apps.market import views as market
from apps.symbols import views as symbols
from config import health

urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("admin/", admin.site.urls),
    # ----------------------------------------------------------------------------------- accounts
    path("api/auth/signup", accounts.EntryView.as_view({"post": "sign_up"})),
    path("api/auth/login", accounts.EntryView.as_view({"post": "log_in"})),
    path("api/auth/refresh-token", accounts.RefreshView.as_view({"post": "refresh"})),
    path("api/auth/logout", accounts.LogOutView.as_view({"post": "log_out"})),
    path("api/auth/profile", accounts.ProfileView.as_view({"get": "show", "patch": "change"})),
    # ------------------------------------------------------------------------------------ symbols
    path("api/symbols/validate", symbols.SymbolView.as_view({"post": "validate"})),
    path("api/symbols/search", symbols.SymbolView.as_view({"get": "search"})),
    path("api/symbols/<str:symbol>", symbols.SymbolView.as_view({"get": "show"})),
    # ------------------------------------------------------------------------------------- market
    path("api/market/candles", market.MarketView.as_view({"get": "candles"})),
    path("api/market/coverage", market.MarketView.as_view({"get": "coverage"})),
    # --------------------------------------------------------------------------------- algorithms
    path(
        "api/trading/algorithms",
        algorithms.AlgorithmView.as_view({"get": "list", "post": "create"}),
    ),
    path(
        "api/trading/algorithms/<str:algorithm_id>",
        algorithms.AlgorithmView.as_view(
            {"get": "show", "put": "update", "patch": "update", "delete": "archive"}
        ),
    ),
    path(
        "api/trading/algorithms/<str:algorithm_id>/validate",
        algorithms.AlgorithmView.as_view({"post": "validate"}),
    ),
    # ---------------------------------------------------------------------------------- backtests
]

handler400 = "apps.core.envelope.bad_request"
handler404 = "apps.core.envelope.not_found"
handler500 = "apps.core.envelope.server_error"
