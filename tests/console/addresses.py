"""The address of every page of the console, by the name that tests give it."""

from collections.abc import Mapping
from typing import Final

PUBLIC_PAGES: Final[Mapping[str, str]] = {
    "sign in": "/app/sign-in",
    "sign up": "/app/sign-up",
    "reset": "/app/reset",
}
# The name in braces is an id of a row of the trader, or the time of a candle.
PAGES: Final[Mapping[str, str]] = {
    "home": "/app",
    "gallery": "/app/gallery",
    "algorithms": "/app/algorithms",
    "algorithm": "/app/algorithms/{algorithm}",
    "draft": "/app/algorithms/{draft}",
    "steps": "/app/algorithms/{algorithm}/steps",
    "steps of a draft": "/app/algorithms/{draft}/steps",
    "json": "/app/algorithms/{algorithm}/json",
    "alerts": "/app/algorithms/{algorithm}/alerts",
    "versions": "/app/algorithms/{draft}/versions?version=2&since=1",
    "new backtest": "/app/algorithms/{algorithm}/backtest",
    "new optimization": "/app/algorithms/{algorithm}/backtest?kind=optimization",
    "new monte carlo": "/app/algorithms/{algorithm}/backtest?kind=monte_carlo",
    "backtests": "/app/backtests",
    "backtest": "/app/backtests/{backtest}",
    "compare": "/app/backtests/compare?id={backtest}&id={backtest}",
    "explanation": "/app/backtests/{backtest}/explain?symbol=NSE:RELIANCE&at={at}",
    "live": "/app/live",
    "run": "/app/live/{run}",
    "positions": "/app/live/{run}/positions",
    "orders": "/app/live/{run}/orders",
    "trades": "/app/live/{run}/trades",
    "signals": "/app/live/{run}/signals",
    "drift": "/app/live/{run}/drift",
    "explanation of a run": "/app/live/{run}/explain?symbol=NSE:RELIANCE&at={at}",
    "stop": "/app/live/{run}/stop",
    "close position": "/app/live/{run}/close/NSE:RELIANCE",
    "received alerts": "/app/alerts",
    "new alert hook": "/app/alerts/new",
    "alert hook": "/app/alerts/{hook}",
    "new address of a hook": "/app/alerts/{hook}/rotate-secret",
    "delete alert hook": "/app/alerts/{hook}/delete",
    "coverage": "/app/data",
    "symbol search": "/app/data/symbols?query=reliance",
    "symbol": "/app/data/symbols/NSE:RELIANCE?timeframe=1d",
    "sessions and charges": "/app/data/rules?date=2026-08-03",
    "replay": "/app/data/replay",
    "upload": "/app/data/upload",
    "settings": "/app/settings",
    "new password": "/app/settings/password",
    "new address": "/app/settings/address",
    "new key": "/app/settings/keys",
    "new webhook": "/app/settings/webhooks",
    "new telegram": "/app/settings/webhooks?kind=telegram",
    "webhook": "/app/settings/webhooks/{webhook}",
    "new secret": "/app/settings/webhooks/{webhook}/rotate-secret",
    "delete webhook": "/app/settings/webhooks/{webhook}/delete",
    "notices": "/app/settings/notices",
    "second factor": "/app/settings/two-factor",
    "export": "/app/settings/export",
    "export that is ready": "/app/settings/export/{export}",
    "open the admin": "/app/settings/admin",
    "close account": "/app/settings/close",
    "unknown": "/app/nothing",
}
# Routes that show nothing by themselves: they lead on, send data to a script, or take a form of
# another page.
NO_PAGES: Final = frozenset(
    {
        "app/sign-out",
        "app/market",
        "app/kill-switch",
        "app/symbols",
        "app/kill-switch/release",
        "app/algorithms/<str:algorithm_id>/do/<str:action>",
        "app/backtests/<str:backtest_id>/do/<str:action>",
        "app/backtests/<str:backtest_id>/evidence",
        "app/backtests/<str:backtest_id>/trades.csv",
        "app/live/<str:algorithm_id>/chart",
        "app/live/<str:algorithm_id>/do/<str:action>",
        "app/settings/verification",
        "app/settings/redeliver/<str:delivery_id>",
        "app/settings/<str:action>/<str:object_id>",
    }
)


def addresses(**ids: str) -> dict[str, str]:
    """Return the addresses of the pages of a trader who has these."""
    return {name: address.format_map(ids) for name, address in PAGES.items()}
