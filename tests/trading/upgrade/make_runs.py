"""Make a database of release 1.0.0 with open runs and a queued backtest, and dump it.

Run in a checkout of that release. See README.md.
"""

import gzip
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

SYMBOLS = ("NSE:RELIANCE", "NSE:SBIN")
TIMEFRAME, LENGTH = "15m", 900
SESSIONS, CUT = 4, 40  # 25 rows each; this many are over when the release ends
ALWAYS = {
    "type": "indicator_value",
    "indicator": {"type": "PRICE"},
    "operator": "above",
    "value": 100,
}


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        from apps.ops.embedded_postgres.shared_server import (  # type: ignore[import-not-found]
            attached,
        )

        with attached(Path(folder), durable=False) as server:
            os.environ["DATABASE_URL"] = f"postgresql://algotrade@/algotrade?host={server.socket}"
            os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
            make_runs()
            dump = subprocess.run(
                [
                    *(server.binaries.directory / "pg_dump", "--host", server.socket),
                    *("--username", "algotrade", "--inserts", "--rows-per-insert=1000"),
                    *("--no-owner", "--no-privileges", "algotrade"),
                ],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
    # Lines for psql only, and a setting that older servers lack.
    plain = re.sub(r"(?m)^(\\(un)?restrict|SET transaction_timeout).*\n", "", dump)
    target.write_bytes(gzip.compress(plain.encode(), mtime=0))


def make_runs() -> None:
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from apps.backtests.running.submissions import read_date_range
    from apps.market.candles.reading import GRACE_PERIOD
    from apps.trading import services
    from apps.trading.live.runner import Runner
    from apps.trading.models import Order, Position
    from tests import make
    from tests.backtests.submissions import submit
    from tests.trading.live import market_day

    owner = make.user("alice")
    starts = market_day.session_starts(SESSIONS, LENGTH)
    series = {
        symbol: market_day.random_candles(seed, starts, wild=0.003)
        for seed, symbol in enumerate(SYMBOLS)
    }
    series[SYMBOLS[1]] = with_a_wide_bar(series[SYMBOLS[1]], CUT)
    market_day.store_bars(series, TIMEFRAME)
    runner = Runner()

    def go(first: int, stop: int) -> None:
        for start in starts[first:stop]:
            market_day.step(runner, SYMBOLS, TIMEFRAME, start + LENGTH + GRACE_PERIOD)

    runs = {
        name: market_day.started(owner, configuration | {"name": name})
        for name, configuration in algorithms(market_day.crossing_steps).items()
        if name != "order at market"
    }
    go(0, CUT - 3)
    services.pause(owner=owner, algorithm_id=runs["paused"].algorithm_id, now=make.NOW)
    go(CUT - 3, CUT - 1)
    at_market = algorithms(market_day.crossing_steps)["order at market"] | {
        "name": "order at market"
    }
    runs["order at market"] = market_day.started(owner, at_market, at=starts[CUT - 1])
    go(CUT - 1, CUT)
    services.stop(
        owner=owner, algorithm_id=runs["stopped"].algorithm_id, close_positions=True, now=make.NOW
    )

    sessions = read_date_range("2026-06-01", "2026-06-04", now=make.NOW)
    submit(owner, runs["in positions"].algorithm_id, date_range=sessions)

    held = {position.run_id: position for position in Position.objects.open()}
    orders = dict(Order.objects.filter(status="open").values_list("run_id", "type"))
    waits = {runs[f"{kind} order"].pk: kind for kind in ("limit", "stop")}
    assert orders.items() >= (waits | {runs["order at market"].pk: "market"}).items(), orders
    for name in ("in positions", "pyramiding", "paused", "stopped"):
        assert runs[name].pk in held, name
    assert 10 < held[runs["pyramiding"].pk].quantity < 50


def algorithms(steps: Callable[..., dict[str, Any]]) -> Mapping[str, dict[str, Any]]:
    """Return the steps keyed by the algorithm's name, which describes its state at the dump."""

    def always_in(symbol: str, order: Mapping[str, object], **replaced: object) -> dict[str, Any]:
        return {
            **steps([symbol], TIMEFRAME),
            "positionSizing": {"method": "fixed_quantity", "quantity": 10},
            "entryConditions": {"positionType": "long", "conditions": [ALWAYS]},
            "exitConditions": {"stopLoss": {"type": "percentage", "percentage": 20}},
            "executionSettings": execution(**order),
            **replaced,
        }

    def execution(**replaced: object) -> dict[str, object]:
        return {
            "mode": "paper",
            "exchange": "NSE",
            "orderType": "market",
            "productType": "delivery",
            "initialCapital": 300_000,
            **replaced,
        }

    leaves = {
        "stopLoss": {"type": "atr", "atrPeriod": 14, "atrMultiplier": 1.5},
        "takeProfit": {"type": "risk_reward", "ratio": 2},
        "trailingStop": {"enabled": True, "type": "percentage", "percentage": 0.6},
    }
    crossing = {
        "type": "indicator_indicator",
        "operator": "crosses_above",
        "indicator1": {"type": "PRICE"},
        "indicator2": {"type": "EMA", "period": 5},
    }
    adds = {
        "method": "fixed_quantity",
        "quantity": 10,
        "pyramiding": {"enabled": True, "maxEntries": 9},
    }
    briefly = {"stopLoss": {"type": "percentage", "percentage": 1}, "maxHoldingCandles": 6}
    limit = {"orderType": "limit", "limitOffset": 1.5}
    stop = {"orderType": "stop", "limitOffset": 1.5}
    quiet, wide = SYMBOLS
    return {
        "in positions": steps(
            SYMBOLS, TIMEFRAME, exitConditions=leaves, executionSettings=execution()
        ),
        "pyramiding": always_in(
            quiet,
            {},
            positionSizing=adds,
            entryConditions={"positionType": "long", "conditions": [crossing]},
            exitConditions={"stopLoss": {"type": "percentage", "percentage": 2}},
        ),
        "paused": always_in(
            quiet,
            {},
            exitConditions={
                "stopLoss": {"type": "percentage", "percentage": 20},
                "maxHoldingCandles": 20,
            },
        ),
        "stopped": always_in(wide, {}),
        "order at market": always_in(wide, {}, exitConditions=briefly),
        "limit order": always_in(wide, limit, exitConditions=briefly),
        "stop order": always_in(wide, stop, exitConditions=briefly),
    }


def with_a_wide_bar(candles: Any, row: int) -> Any:
    """Return a bar that triggers orders that no other bar reaches."""
    from apps.engine.candles import Candles

    prices = {name: getattr(candles, name).copy() for name in ("open", "high", "low", "close")}
    prices["high"][row], prices["low"][row] = 1.03 * prices["open"][row], 0.97 * prices["open"][row]
    return Candles.build(candles.time, volume=candles.volume, **prices)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
