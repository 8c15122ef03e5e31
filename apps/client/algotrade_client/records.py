"""Typed answers of the service: frozen records with the fields of the OpenAPI document.

A field has the name of the document in snake case. `raw` is the JSON of the answer, with fields
that a newer service has added. Objects that callers rarely take apart stay JSON.
"""

import datetime as dt
import html
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import (
    Any,
    ClassVar,
    Final,
    Self,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

Json: TypeAlias = Mapping[str, Any]
# Fields of this package, which are not on the wire.
_OWN: Final = frozenset({"raw", "page"})


@dataclass(frozen=True, kw_only=True)
class Record:
    """An answer, or an object in one. `schema` names another schema of the document than the
    class.
    """

    schema: ClassVar[str] = ""
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def read(cls, data: Json) -> Self:
        """Return the record of a JSON object."""
        readers = _readers(cls)  # type: ignore[arg-type]  # a class is hashable
        return cls(raw=data, **{name: read(data) for name, read in readers.items()})


@cache
def _readers(kind: type[Record]) -> dict[str, Callable[[Json], Any]]:
    """Return functions that read each field from the object."""
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind) if field.name not in _OWN]
    return {name: _reader_of_field(wire_name(name), hints[name]) for name in names}


def wire_name(name: str) -> str:
    """Return the name of a field in the document."""
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name.rstrip("_"))


def _reader_of_field(name: str, hint: Any) -> Callable[[Json], Any]:
    read = _reader(hint)
    is_optional = type(None) in get_args(hint)
    return lambda data: read(data.get(name) if is_optional else data[name])


def _reader(hint: Any) -> Callable[[Any], Any]:
    """Return the function that reads a value of this type."""
    if get_origin(hint) in (types.UnionType, Union):
        [inner] = [_reader(part) for part in get_args(hint) if part is not type(None)]
        return lambda value: None if value is None else inner(value)
    if get_origin(hint) is tuple:
        item = _reader(get_args(hint)[0])
        return lambda values: tuple(item(value) for value in values)
    if isinstance(hint, type) and issubclass(hint, Record):
        return hint.read
    if hint in (dt.datetime, dt.date):
        parse: Callable[[Any], Any] = hint.fromisoformat
        return parse
    return lambda value: value


# Algorithms.


@dataclass(frozen=True, kw_only=True)
class Remark(Record):
    field: str
    message: str


@dataclass(frozen=True, kw_only=True)
class CoverageRow(Record):
    symbol: str
    bars: int
    first_bar: dt.datetime | None
    last_bar: dt.datetime | None
    held_sessions: int
    sessions: int
    percentage: float | None
    since: dt.date | None
    sessions_since: int
    generated_until: dt.datetime | None


@dataclass(frozen=True, kw_only=True)
class Review(Record):
    valid: bool
    missing_fields: tuple[str, ...]
    errors: tuple[Remark, ...]
    warnings: tuple[Remark, ...]
    coverage: tuple[CoverageRow, ...]


@dataclass(frozen=True, kw_only=True)
class _WithSteps(Record):
    basic_info: Json
    position_sizing: Json
    entry_conditions: Json
    exit_conditions: Json
    risk_parameters: Json
    execution_settings: Json

    @property
    def steps(self) -> dict[str, Json]:
        """The steps by their wire names, as `create` and `validate` take them."""
        return {wire_name(name): getattr(self, name) for name in _readers(_WithSteps)}


@dataclass(frozen=True, kw_only=True)
class Algorithm(_WithSteps):
    id: str
    user_id: str
    name: str
    description: str
    status: str
    active: bool
    version: int
    performance: Json
    walk_forward_config: Json | None
    walk_forward_results: tuple[Json, ...]
    monte_carlo_config: Json | None
    monte_carlo_results: Json | None
    is_template: bool
    is_public: bool
    cloned_from: str | None
    last_execution: Json | None
    created_at: dt.datetime
    updated_at: dt.datetime


@dataclass(frozen=True, kw_only=True)
class SavedAlgorithm(Algorithm):
    missing_fields: tuple[str, ...]
    errors: tuple[Remark, ...]
    warnings: tuple[Remark, ...]


@dataclass(frozen=True, kw_only=True)
class StartedAlgorithm(Algorithm):
    warnings: tuple[Remark, ...]


@dataclass(frozen=True, kw_only=True)
class AlgorithmItem(Record):
    id: str
    name: str
    status: str
    active: bool
    strategy_type: str | None
    timeframe: str | None
    symbols: tuple[str, ...]
    performance: Json
    created_at: dt.datetime
    updated_at: dt.datetime


@dataclass(frozen=True, kw_only=True)
class Template(AlgorithmItem, _WithSteps):
    description: str
    market: str | None
    owner: str
    is_public: bool


@dataclass(frozen=True, kw_only=True)
class Version(_WithSteps):
    version: int
    current: bool
    created_at: dt.datetime


@dataclass(frozen=True, kw_only=True)
class Sentence(Record):
    field: str
    text: str


@dataclass(frozen=True, kw_only=True)
class StepSummary(Record):
    step: str
    is_complete: bool
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, kw_only=True)
class Summary(Record):
    algorithm_id: str
    version: int
    steps: tuple[StepSummary, ...]


@dataclass(frozen=True, kw_only=True)
class SettingChange(Record):
    field: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class VersionSummary(Summary):
    since: int | None
    changes: tuple[SettingChange, ...]


# Backtests.


@dataclass(frozen=True, kw_only=True)
class ReceiptNote(Record):
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class BacktestError(Record):
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class BacktestItem(Record):
    """A backtest in a list; its `performance` has eight metrics."""

    schema = "Backtest"
    id: str
    algorithm_id: str
    algorithm_version: int
    name: str
    kind: str
    status: str
    progress: int
    estimated_seconds: float | None
    start_date: str
    end_date: str
    symbols: tuple[str, ...]
    timeframe: str
    initial_capital: float
    config: Json | None
    performance: Json | None
    results: Json | None
    error: BacktestError | None
    created_at: dt.datetime
    started_at: dt.datetime | None
    completed_at: dt.datetime | None
    kept: bool
    expires_at: dt.datetime | None
    receipt: Json | None

    @property
    def has_ended(self) -> bool:
        return self.status not in ("queued", "running")

    @property
    def notes(self) -> list[str]:
        """The sentences that limit how far to trust the result."""
        return [note["message"] for note in (self.receipt or {}).get("notes", ())]


@dataclass(frozen=True, kw_only=True)
class Backtest(BacktestItem):
    """A backtest with all metrics. A notebook shows its result page."""

    schema = "WholeBacktest"
    warnings: tuple[Remark, ...]
    breakdowns: Json | None
    # Reads the result page. An item of a list and a backtest without a result have none.
    page: Callable[[], str] | None = field(default=None, repr=False, compare=False)

    def _repr_html_(self) -> str | None:
        """Show the result page in a notebook, apart from the notebook's own styles."""
        if self.page is None:
            return None
        source = html.escape(self.page(), quote=True)
        style = "width: 100%; height: 80vh; border: 0"
        return f'<iframe srcdoc="{source}" sandbox="allow-scripts" style="{style}"></iframe>'


@dataclass(frozen=True, kw_only=True)
class _TradeFields(Record):
    symbol: str
    side: str
    entry_time: dt.datetime
    entry_date: dt.date
    entry_price: float
    exit_time: dt.datetime
    exit_date: dt.date
    exit_price: float
    exit_reason: str
    gross_profit: float
    charges: float
    profit: float
    return_percentage: float
    bars: int


@dataclass(frozen=True, kw_only=True)
class Trade(_TradeFields):
    quantity: float
    max_adverse_excursion: float | None
    max_favorable_excursion: float | None
    entry_delay_bars: int | None
    entry_delay_minutes: float | None
    entry_bar_volume: float | None
    entry_volume_share: float | None
    exit_delay_bars: int | None
    exit_delay_minutes: float | None
    exit_bar_volume: float | None
    exit_volume_share: float | None


@dataclass(frozen=True, kw_only=True)
class ExecutedTrade(_TradeFields):
    """A trade on paper."""

    id: str
    run_id: str
    quantity: int


@dataclass(frozen=True, kw_only=True)
class EvidenceVerdict(Record):
    passes: bool
    sentence: str


@dataclass(frozen=True, kw_only=True)
class EvidenceCheck(Record):
    name: str
    status: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Evidence(Record):
    """The verdict on a result. `sections` has the figures behind each check by its name."""

    status: str
    requested_at: dt.datetime
    completed_at: dt.datetime | None
    error: Json | None
    verdict: EvidenceVerdict | None
    checks: tuple[EvidenceCheck, ...]
    sections: Json
    notes: tuple[ReceiptNote, ...]

    @property
    def trials(self) -> int | None:
        """The number of variants that were tried; None if the section is missing."""
        trials: int | None = self._figures.get("trials")
        return trials

    @property
    def deflated_sharpe_ratio(self) -> float | None:
        """The probability of a Sharpe ratio above 0, corrected for the number of trials."""
        ratio: float | None = self._figures.get("deflatedSharpeRatio")
        return ratio

    @property
    def _figures(self) -> Json:
        figures: Json = self.sections.get("multipleTesting", {}).get("figures", {})
        return figures


@dataclass(frozen=True, kw_only=True)
class ExplainedEntry(Record):
    reason: str
    side: str | None
    possible_reasons: tuple[str, ...]
    message: str
    trade: Trade | None


@dataclass(frozen=True, kw_only=True)
class Explanation(Record):
    symbol: str
    timeframe: str
    candle: Json
    confirmation_candles: int
    sides: tuple[Json, ...]
    ranking: tuple[Json, ...] | None
    entry: ExplainedEntry
    positions: tuple[Json, ...]


@dataclass(frozen=True, kw_only=True)
class MetricPair(Record):
    name: str
    first: float | None
    second: float | None
    difference: float | None


@dataclass(frozen=True, kw_only=True)
class BacktestComparison(Record):
    backtests: tuple[Json, ...]
    metrics: tuple[MetricPair, ...]
    changes: tuple[SettingChange, ...]
    returns: Json | None
    verdict: str
    not_examined: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class WhatIf(Record):
    backtest_id: str
    changes: tuple[SettingChange, ...]
    metrics: tuple[MetricPair, ...] | None
    same_candles: bool | None
    stored_backtest_id: str | None
    notes: tuple[ReceiptNote, ...]


@dataclass(frozen=True, kw_only=True)
class ReportLink(Record):
    id: str
    url: str
    expires_at: dt.datetime


# Paper trading.


@dataclass(frozen=True, kw_only=True)
class Signal(Record):
    run_id: str
    symbol: str
    time: dt.datetime
    side: str
    action: str
    followed: bool
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Standing(Record):
    algorithm_id: str
    name: str
    status: str
    profit_today: float | None
    net_profit: float
    open_positions: int
    unrealised_profit: float
    last_signal: Signal | None


@dataclass(frozen=True, kw_only=True)
class Drift(Record):
    date: dt.date | None
    status: str
    through: dt.datetime | None
    rows: int
    total: int
    differences: tuple[Json, ...]
    band: Json


@dataclass(frozen=True, kw_only=True)
class Order(Record):
    id: str
    run_id: str
    symbol: str
    side: str
    intent: str
    type: str
    price: float | None
    quantity: int | None
    status: str
    reason: str | None
    bar_time: dt.datetime
    placed_at: dt.datetime
    ended_at: dt.datetime | None
    cancel_requested_at: dt.datetime | None
    fill_price: float | None
    charges: float | None
    charges_by_kind: Json | None


@dataclass(frozen=True, kw_only=True)
class Position(Record):
    run_id: str
    symbol: str
    status: str
    side: str
    quantity: int
    entry_price: float
    last_price: float | None
    unrealised_profit: float
    stop_loss: float | None
    take_profit: float | None
    opened_at: dt.datetime
    closed_at: dt.datetime | None
    close_requested_at: dt.datetime | None


@dataclass(frozen=True, kw_only=True)
class Account(Record):
    balance: float
    reserved: float
    available: float
    equity: float
    currency: str


@dataclass(frozen=True, kw_only=True)
class KillSwitch(Record):
    active: bool
    since: dt.datetime | None
    reason: str | None


@dataclass(frozen=True)
class Event:
    """A message of the event stream, or a hint (`bars`, `account`) without a `position`."""

    position: int | None
    type: str
    data: Json


# Market.


@dataclass(frozen=True, kw_only=True)
class Instrument(Record):
    symbol: str
    exchange: str
    exchange_name: str
    name: str
    type: str
    isin: str | None
    underlying: str | None
    expiry: dt.date | None
    strike: float | None
    option_type: str | None
    lot_size: int
    tick_size: float | None
    multiplier: float | None
    freeze_quantity: int | None
    tradable: bool
    next_expiries: tuple[dt.date, ...]
    aliases: tuple[Json, ...]


@dataclass(frozen=True, kw_only=True)
class Match(Record):
    symbol: str
    name: str
    type: str
    exchange: str
    expiry: dt.date | None


@dataclass(frozen=True, kw_only=True)
class TimeframeCoverage(Record):
    timeframe: str
    first: dt.datetime
    last: dt.datetime
    bars: int
    days: int | None
    missing_sessions: int | None
    gaps: tuple[Json, ...] | None
    unchecked_years: tuple[int, ...] | None
    synthetic: bool | None
    generated_until: dt.datetime | None
    adjusted: bool | None


@dataclass(frozen=True, kw_only=True)
class Coverage(Record):
    symbol: str
    timeframes: tuple[TimeframeCoverage, ...]
    quality: Json | None


@dataclass(frozen=True, kw_only=True)
class CandleUpload(Record):
    stored: bool
    fingerprint: str
    files: tuple[Json, ...]
    added: int
    repeated: int
    replaced: int
    dropped: int


# Alerts of other programs.


@dataclass(frozen=True, kw_only=True)
class AlertHook(Record):
    id: str
    name: str
    format: str
    networks: tuple[str, ...]
    expected_by: str | None
    created_at: dt.datetime


@dataclass(frozen=True, kw_only=True)
class AlertHookWithAddress(AlertHook):
    url: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class ReceivedAlert(Record):
    id: str
    hook_id: str
    message_id: str
    name: str
    symbol: str | None
    price: float | None
    received_at: dt.datetime
    sent_at: str | None


@dataclass(frozen=True, kw_only=True)
class AlertMessage(Record):
    """A body that came to a hook; `refusal` says why it could not be read."""

    id: str
    received_at: dt.datetime
    body: str
    refusal: str | None
    copies: int
    last_copy_at: dt.datetime | None
    alerts: tuple[ReceivedAlert, ...]


# Webhooks and keys.


@dataclass(frozen=True, kw_only=True)
class Webhook(Record):
    id: str
    kind: str
    url: str
    events: tuple[str, ...]
    description: str
    quiet_hours: Json | None
    digest: str
    link: Json | None
    status: str
    disabled_reason: str | None
    failing_since: dt.datetime | None
    created_at: dt.datetime


@dataclass(frozen=True, kw_only=True)
class WebhookWithSecret(Webhook):
    secret: str | None = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Delivery(Record):
    id: str
    webhook_id: str
    event_id: str
    type: str
    sequence: int
    status: str
    created_at: dt.datetime
    next_attempt_at: dt.datetime | None
    attempts: tuple[Json, ...]


@dataclass(frozen=True, kw_only=True)
class CreatedKey(Record):
    """A new API key; `key` is its text."""

    id: str
    name: str
    scopes: tuple[str, ...]
    last_four: str
    created_at: dt.datetime
    last_used_at: dt.datetime | None
    last_address: str | None
    expires_at: dt.datetime | None
    networks: tuple[str, ...]
    key: str = field(repr=False)
