"""The main journey of a client: from signing up to signals on paper."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from typing import Any, Final

from apps.client.algotrade_client import AlgotradeError, Client, sign_up
from apps.client.algotrade_client.errors import ValidationError
from apps.client.algotrade_client.records import Algorithm, Backtest, ExecutedTrade, Trade
from apps.ops.demo.webhook_receiver import WebhookReceiver

DEMO_ALGORITHM: Final[Mapping[str, Any]] = {
    "name": "Crossing averages",
    "basicInfo": {"strategyType": "momentum", "timeframe": "5m", "symbols": ["NSE:RELIANCE"]},
    "positionSizing": {"method": "risk_based", "riskPercentage": 0.2},
    "entryConditions": {
        "positionType": "both",
        "conditions": [
            {
                "type": "indicator_indicator",
                "indicator1": {"type": "EMA", "period": 9},
                "operator": "crosses_above",
                "indicator2": {"type": "EMA", "period": 21},
            }
        ],
    },
    "exitConditions": {
        "stopLoss": {"type": "percentage", "percentage": 0.5},
        "takeProfit": {"type": "risk_reward", "ratio": 2},
    },
    "riskParameters": {"maxPositionSize": 500_000, "maxDailyLoss": 20_000, "maxOpenPositions": 1},
    "executionSettings": {
        "mode": "paper",
        "exchange": "NSE",
        "orderType": "market",
        "slippage": 0.01,
    },
}
SECONDS_FOR_A_BACKTEST: Final = 180.0
SPARKS: Final = " ▁▂▃▄▅▆▇█"
EVENTS: Final = ("algorithm.started", "trade.executed", "algorithm.stopped")
DAYS_ON_PAPER: Final = 5
SECONDS_TO_CATCH_UP: Final = 120.0
SECONDS_WITHOUT_SIGNALS: Final = 3.0

SHOWN_METRICS: Final = (
    *("totalTrades", "winRate", "netProfit", "roi", "charges", "profitFactor", "maxDrawdown"),
)
# Replays a symbol's stored candles of a timeframe from a date on, as if they came in now.
PlayCandles = Callable[[str, str, date], None]


class DemoFailed(Exception):
    """The service gave an unexpected answer."""


def run_demo(
    address: str,
    say: Callable[[str], None],
    *,
    password: str,
    feed: PlayCandles,
    receiver: WebhookReceiver,
) -> None:
    """Go through every step. Raises DemoFailed at the first unexpected answer."""
    try:
        say("Sign up, and get an API key")
        key = sign_up(address, "trader@example.com", password, name="A Trader")
        say(f"    the key …{key.last_four} may {', '.join(key.scopes)}")
        with Client(address, key.key) as client:
            Walk(client, say, feed, receiver).run()
    except AlgotradeError as error:
        raise DemoFailed(f"{type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Walk:
    """The steps of one user. Each prints its calls and their answers."""

    client: Client
    say: Callable[[str], None]
    feed: PlayCandles
    receiver: WebhookReceiver

    def run(self) -> None:
        self._look_up_symbols()
        algorithm = self._describe_algorithm()
        first, last = self._show_history()
        self._show_result(self._backtest(algorithm, first, last))
        self._trade_on_paper(algorithm, last)

    def _look_up_symbols(self) -> None:
        self.say("Look up symbols: client.market.search")
        matches = self.client.market.search("RELI", exchange="NSE")
        self.say(f"    {', '.join(match.symbol for match in matches)}")

    def _describe_algorithm(self) -> Algorithm:
        self.say("Describe an algorithm: client.algorithms.validate, create")
        exits = {"stopLos": {"type": "percentage", "percentage": 0.5}}
        try:
            self.client.algorithms.create(exitConditions=exits)
            raise DemoFailed("a mistyped step was accepted")
        except ValidationError as error:
            self.say(f"    refused, as it should be: {error.message}")
        review = self.client.algorithms.validate(DEMO_ALGORITHM)
        self.say(f"    valid {review.valid}, missing {list(review.missing_fields) or 'nothing'}")
        algorithm = self.client.algorithms.create(**DEMO_ALGORITHM)
        self.say(f"    {algorithm.name}: {algorithm.status}, version {algorithm.version}")
        return algorithm

    def _show_history(self) -> tuple[date, date]:
        """Return the first and the last day with stored minutes."""
        self.say("See what history is held: client.market.coverage")
        coverage = self.client.market.coverage("NSE:RELIANCE")
        minutes = next(row for row in coverage.timeframes if row.timeframe == "1m")
        self.say(f"    {minutes.bars} bars of 1m, {minutes.first} to {minutes.last}")
        return minutes.first.date(), minutes.last.date()

    def _backtest(self, algorithm: Algorithm, first: date, last: date) -> Backtest:
        self.say("Backtest it: client.backtests.run")
        begun = time.monotonic()
        backtest = self.client.backtests.run(algorithm, first, last, seconds=SECONDS_FOR_A_BACKTEST)
        self.say(f"    completed after {time.monotonic() - begun:.1f} s")
        return backtest

    def _show_result(self, backtest: Backtest) -> None:
        self.say("Read the result: client.backtests.list_trades, evidence, share")
        metrics = backtest.performance or {}
        for name in SHOWN_METRICS:
            self.say(f"    {name:13} {metrics[name]}")
        for note in backtest.notes:
            self.say(f"    {note}")
        trades = self.client.backtests.list_trades(backtest)
        for trade in islice(trades, 3):
            self.say(f"    {_trade_line(trade)}")
        path = f"/api/backtests/{backtest.id}/equity"
        points = self.client.call("GET", path, query={"points": 60})["points"]
        self.say(f"    equity {_sparkline([point['equity'] for point in points])}")
        evidence = self.client.backtests.evidence(backtest, seconds=SECONDS_FOR_A_BACKTEST)
        self.say(f"    {evidence.trials} trial counted")
        self.say(f"    a page for everybody: {self.client.backtests.share(backtest).url}")

    def _trade_on_paper(self, algorithm: Algorithm, last: date) -> None:
        """Start the algorithm, replay its last days, stop it."""
        self.say("Trade it on paper: client.webhooks.create, client.runs.start")
        webhook = self.client.webhooks.create(self.receiver.url, EVENTS)
        self.receiver.secret = webhook.secret or ""  # of a chat there is none
        self.client.runs.start(algorithm)
        begun = last - timedelta(days=DAYS_ON_PAPER - 1)
        self.feed("NSE:RELIANCE", "5m", begun)
        self.say(f"    played {begun} to {last} as if it came in now")
        self._wait_for_signals(algorithm)
        self._show_trades(algorithm)
        self.client.runs.stop(algorithm)
        self._wait_for_webhooks()

    def _wait_for_signals(self, algorithm: Algorithm) -> None:
        """Wait until there is a signal, and then until no more come for a while."""
        before, since, begun = 0, time.monotonic(), time.monotonic()
        path = f"/api/trading/algorithms/{algorithm.id}/signals"
        while before == 0 or time.monotonic() - since < SECONDS_WITHOUT_SIGNALS:
            if time.monotonic() - begun > SECONDS_TO_CATCH_UP:
                raise DemoFailed(f"nothing was traded in {SECONDS_TO_CATCH_UP:.0f} s")
            time.sleep(0.2)
            count = self.client.call("GET", path, query={"limit": 1})["pagination"]["total"]
            if count != before:
                before, since = count, time.monotonic()

    def _show_trades(self, algorithm: Algorithm) -> None:
        trades = sorted(self.client.runs.list_trades(algorithm), key=lambda trade: trade.exit_time)
        if not trades:
            raise DemoFailed("a week on paper ended without a trade")
        for trade in trades:
            self.say(f"    {trade.exit_time:%Y-%m-%d} {_trade_line(trade)}")
        standing = self.client.runs.standing(algorithm)
        self.say(f"    net profit of {len(trades)} trades: {standing.net_profit:+.2f}")
        account = self.client.runs.account()
        self.say(f"    balance {account.balance:.2f}, reserved {account.reserved:.2f}")

    def _wait_for_webhooks(self) -> None:
        """Wait until each event was delivered, signed."""
        begun = time.monotonic()
        while len(counts := self.receiver.count_by_type()) < len(EVENTS):
            if time.monotonic() - begun > SECONDS_TO_CATCH_UP:
                raise DemoFailed(f"of {EVENTS} only {dict(counts)} was delivered")
            time.sleep(0.2)
        for name in EVENTS:
            self.say(f"    told by webhook, and signed: {counts[name]} x {name}")


def _sparkline(values: list[float]) -> str:
    low, high = min(values), max(values)
    steps = len(SPARKS) - 1
    return "".join(SPARKS[round((value - low) / ((high - low) or 1.0) * steps)] for value in values)


def _trade_line(trade: Trade | ExecutedTrade) -> str:
    return (
        f"{trade.side:5} {trade.quantity:g} at {trade.entry_price:.2f}, out at"
        f" {trade.exit_price:.2f} by {trade.exit_reason}: {trade.profit:+.2f}"
    )
