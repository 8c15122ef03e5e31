"""The checks before an algorithm trades: at every start, and again when it resumes."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.algorithms.models import Algorithm
from apps.algorithms.services import missing_data
from apps.core.errors import Code, Fault, ServiceError
from apps.core.times import INDIA
from apps.engine.language import Strategy
from apps.market.rulebook import (
    CONTRACT_EXPIRED,
    SymbolNotTradable,
    current_rule_set,
    expired_among,
    require_tradable,
)
from apps.symbols import services as symbols
from apps.symbols.models import Type
from apps.symbols.services import SymbolCheck
from apps.trading.brokers import paper
from apps.trading.brokers.paper import PAPER
from apps.trading.models import BrokerState, DailyLoss, Position, Run
from apps.trading.models.money import rupees

_RETRY_SECONDS: Final = 60


class DailyLossReached(ServiceError):
    """Today's loss forbids new entries until the next date in Asia/Kolkata."""

    code = Code.DAILY_LOSS_LIMIT
    message = "The algorithm has lost {dailyLoss} rupees today; its limit of a day is {limit}."


class PositionLimitReached(ServiceError):
    """An earlier run still holds the maximum number of positions."""

    code = Code.POSITION_LIMIT_REACHED
    message = (
        "{openPositions} positions of an earlier run are open; {maxOpenPositions} is the most."
    )


class PositionsStillOpen(ServiceError):
    """An earlier run still holds positions, and the capital in them."""

    code = Code.UNPROCESSABLE_ENTITY
    message = (
        "{openPositions} positions of an earlier run are open; it can start when they are not."
    )


class BrokerBusy(ServiceError):
    """The broker accepts no more orders for now."""

    code = Code.BROKER_RATE_LIMIT
    message = "The broker {broker} takes no more orders just now; try again later."


class BrokerUnreachable(ServiceError):
    """The broker cannot be reached."""

    code = Code.BROKER_CONNECTION_FAILED
    message = "The broker {broker} cannot be reached just now; try again later."


class NoBroker(ServiceError):
    """No adapter can send the orders of a live run."""

    code = Code.BROKER_CONNECTION_FAILED
    message = "No broker is connected; executionSettings.mode paper needs none."


@dataclass(frozen=True, slots=True)
class StartRequest:
    """An algorithm to start or resume, its parsed steps, and the run that it resumes."""

    algorithm: Algorithm
    strategy: Strategy
    resumed: Run | None

    @property
    def is_live(self) -> bool:
        return self.strategy.executionSettings.mode == "live"


def check_symbols(request: StartRequest, *, now: datetime) -> tuple[Fault, ...]:
    """Return warnings; on paper an index may be traded. Raises SymbolNotTradable."""
    verdicts = symbols.check_all(symbols=request.strategy.basicInfo.symbols, now=now)
    for verdict in verdicts:
        if reason := _untradable_reason(verdict, live=request.is_live):
            raise SymbolNotTradable(symbol=verdict.symbol, reason=reason)
    rule_set, today = current_rule_set(), now.astimezone(INDIA).date()
    for symbol in expired_among(request.strategy.basicInfo.symbols, rule_set=rule_set, now=now):
        raise SymbolNotTradable(symbol=symbol, reason=CONTRACT_EXPIRED)
    require_tradable(request.strategy, rule_set=rule_set, day=today)
    missing = missing_data(request.strategy, owner_id=str(request.algorithm.owner_id))
    return *_warnings(verdicts), *missing


def _untradable_reason(verdict: SymbolCheck, *, live: bool) -> str | None:
    if live and verdict.type == Type.INDEX:
        return "It is an index."
    return verdict.reason


def _warnings(verdicts: Iterable[SymbolCheck]) -> Iterable[Fault]:
    for index, verdict in enumerate(verdicts):
        if verdict.type == Type.INDEX:
            message = f"{verdict.symbol} is an index: it trades only on paper."
            yield Fault(f"basicInfo.symbols[{index}]", message)


def check_loss(request: StartRequest, *, now: datetime) -> None:
    """Check the loss of the day.

    A breach stands until the day ends, even if the limit is raised. Raises DailyLossReached.
    """
    today = now.astimezone(INDIA).date()
    lost = DailyLoss.objects.filter(algorithm=request.algorithm, day=today).first()
    if lost is None:
        return
    limit = rupees(request.strategy.riskParameters.maxDailyLoss)
    if lost.breached_at is not None:
        raise DailyLossReached(dailyLoss=lost.loss, limit=lost.limit)
    if lost.loss >= limit:
        raise DailyLossReached(dailyLoss=lost.loss, limit=limit)


def check_positions(request: StartRequest) -> None:
    """Check the positions of earlier runs. Raises PositionLimitReached, PositionsStillOpen."""
    earlier = Run.objects.holding().filter(algorithm=request.algorithm)
    if request.resumed is not None:
        earlier = earlier.exclude(pk=request.resumed.pk)
    if not earlier.exists():
        return
    left = Position.objects.open().filter(run__in=earlier).count()
    most = request.strategy.riskParameters.maxOpenPositions
    if left >= most:
        raise PositionLimitReached(openPositions=left, maxOpenPositions=most)
    raise PositionsStillOpen(openPositions=left, reason="positions_open")


def check_broker(request: StartRequest) -> None:
    """Raises NoBroker, BrokerUnreachable, BrokerBusy."""
    if request.is_live:
        broker = request.strategy.executionSettings.broker
        raise NoBroker(broker=broker, retryAfter=_RETRY_SECONDS)
    match paper.read_state():
        case BrokerState.UNREACHABLE:
            raise BrokerUnreachable(broker=PAPER, retryAfter=_RETRY_SECONDS)
        case BrokerState.LIMITED:
            raise BrokerBusy(broker=PAPER, retryAfter=_RETRY_SECONDS)
