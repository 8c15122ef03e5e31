"""Every route of the service on one screen. No path ends in a slash."""

from django.contrib import admin
from django.urls import path

from config import health

urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("admin/", admin.site.urls),
    # ----------------------------------------------------------------------------------- accounts
    # ------------------------------------------------------------------------------------ symbols
    # ------------------------------------------------------------------------------------- market
    # --------------------------------------------------------------------------------- algorithms
    # ---------------------------------------------------------------------------------- backtests
]

handler400 = "apps.core.envelope.bad_request"
handler404 = "apps.core.envelope.not_found"
handler500 = "apps.core.envelope.server_error"
