"""Every page of the console, below /app/."""

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path

from apps.console import alert_hooks, data, explanations, live
from apps.console.account import entry, profile, security, webhooks
from apps.console.backtesting import backtests
from apps.console.backtesting.new_backtest import new_backtest_page
from apps.console.describing import algorithms
from apps.console.describing.alerts import alerts_page
from apps.console.editing import steps
from apps.console.editing.symbols import symbol_choices_page
from apps.console.gate import console_page
from apps.console.home import kill_switch_page, market_page, release_kill_switch_page
from apps.console.replay import replay_page


@console_page(public=True)
def unknown(request: HttpRequest, address: str) -> HttpResponse:
    raise Http404


urlpatterns = [
    path("sign-in", entry.sign_in_page),
    path("sign-up", entry.sign_up_page),
    path("sign-out", entry.sign_out_page),
    path("reset", entry.ask_for_reset_page),
    path("kill-switch", kill_switch_page),
    path("kill-switch/release", release_kill_switch_page),
    path("market", market_page),
    path("gallery", algorithms.gallery_page),
    path("algorithms", algorithms.algorithms_page),
    path("algorithms/<str:algorithm_id>", algorithms.algorithm_page),
    path("algorithms/<str:algorithm_id>/steps", steps.steps_page),
    path("algorithms/<str:algorithm_id>/json", steps.json_page),
    path("algorithms/<str:algorithm_id>/versions", algorithms.versions_page),
    path("algorithms/<str:algorithm_id>/alerts", alerts_page),
    path("algorithms/<str:algorithm_id>/backtest", new_backtest_page),
    path("algorithms/<str:algorithm_id>/do/<str:action>", algorithms.algorithm_action_page),
    path("symbols", symbol_choices_page),
    path("backtests", backtests.backtests_page),
    path("backtests/compare", backtests.compare_page),
    path("backtests/<str:backtest_id>", backtests.backtest_page),
    path("backtests/<str:backtest_id>/evidence", backtests.evidence_page),
    path("backtests/<str:backtest_id>/trades.csv", backtests.download_trades),
    path("backtests/<str:backtest_id>/explain", explanations.explain_backtest_page),
    path("backtests/<str:backtest_id>/do/<str:action>", backtests.backtest_action_page),
    path("live", live.live_page),
    path("live/<str:algorithm_id>", live.run_page),
    path("live/<str:algorithm_id>/chart", live.chart_page),
    path("live/<str:algorithm_id>/drift", live.drift_page),
    path("live/<str:algorithm_id>/explain", explanations.explain_run_page),
    path("live/<str:algorithm_id>/stop", live.stop_page),
    path("live/<str:algorithm_id>/close/<str:symbol>", live.close_position_page),
    path("live/<str:algorithm_id>/do/<str:action>", live.run_action_page),
    path("live/<str:algorithm_id>/<str:kind>", live.activity_page),
    path("alerts", alert_hooks.received_alerts_page),
    path("alerts/new", alert_hooks.new_hook_page),
    path("alerts/<str:hook_id>", alert_hooks.hook_page),
    path("alerts/<str:hook_id>/<str:action>", alert_hooks.hook_action_page),
    path("data", data.coverage_page),
    path("data/symbols", data.symbols_page),
    path("data/symbols/<str:symbol>", data.symbol_page),
    path("data/rules", data.rules_page),
    path("data/replay", replay_page),
    path("data/upload", data.upload_page),
    path("settings", profile.settings_page),
    path("settings/password", security.password_page),
    path("settings/address", security.change_address_page),
    path("settings/verification", security.send_verification_page),
    path("settings/keys", security.new_key_page),
    path("settings/two-factor", security.two_factor_page),
    path("settings/export", security.ask_for_export_page),
    path("settings/export/<str:export_id>", security.export_page),
    path("settings/admin", security.admin_login_page),
    path("settings/close", security.close_account_page),
    path("settings/notices", webhooks.notices_page),
    path("settings/webhooks", webhooks.new_webhook_page),
    path("settings/webhooks/<str:webhook_id>", webhooks.webhook_page),
    path("settings/webhooks/<str:webhook_id>/<str:action>", webhooks.webhook_action_page),
    path("settings/redeliver/<str:delivery_id>", webhooks.redeliver_page),
    path("settings/<str:action>/<str:object_id>", profile.settings_action_page),
    path("<path:address>", unknown),
]
