"""The tools of assistants: their arguments, and their calls of the service.

A result of a backtest leaves with its trials, its deflated Sharpe ratio and its verdict, or has no
figures. No tool starts or resumes an algorithm, touches keys, or releases the kill switch.
"""

import datetime as dt
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from threading import Lock
from typing import Any, Final, NamedTuple

from .client import Client
from .errors import (
    AlgotradeError,
    ApiError,
    BacktestNotCompleted,
    EvidenceNotReady,
    Forbidden,
    UnprocessableEntity,
)
from .records import Backtest, Json

RUNS_IN_AN_HOUR: Final = 20
SECONDS_OF_A_RUN: Final = 40
SECONDS_OF_A_VERDICT: Final = 15
_SUBMITTING: Final = Lock()
_MOST_STANDINGS: Final = 200
_STEPS: Final = (
    *("basicInfo", "positionSizing", "entryConditions", "exitConditions", "riskParameters"),
    "executionSettings",
)
_REF: Final = re.compile(r"#/components/schemas/(\w+)")

READ: Final = "read"
BACKTEST: Final = "backtest"
TRADE: Final = "trade"
# No call takes PUT there: a key with the scope gets 405, a key without it 403.
_PROBES: Final = {
    READ: ("GET", "/api/trading/account"),
    BACKTEST: ("PUT", "/api/backtests"),
    TRADE: ("PUT", "/api/trading/algorithms"),
}


class AssistantError(AlgotradeError):
    """An assistant asked for more than it may have."""


class Caller(NamedTuple):
    """The client of a call, and the end of its key that the service shows too."""

    client: Client
    last_four: str


Call = Callable[[Caller, Json], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class AssistantTool:
    """A tool; its answer is an object with the `answer` properties, and more."""

    name: str
    description: str
    call: Call
    scopes: Sequence[str] = (READ,)
    properties: Json
    required: Sequence[str] = ()
    answer: Json
    is_read_only: bool = True
    is_idempotent: bool = True

    @property
    def input_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": dict(self.answer), "required": list(self.answer)}


def scopes_of(client: Client) -> set[str]:
    """Return the scopes of the client's key, as the service judges it."""
    return {scope for scope in _PROBES if _has_scope(client, scope)}


def _has_scope(client: Client, scope: str) -> bool:
    try:
        client.call(*_PROBES[scope])
    except Forbidden:
        return False
    except ApiError as error:
        if error.status != 405:
            raise
    return True


# The language.


def _describe_language(caller: Caller, arguments: Json) -> dict[str, Any]:
    section = arguments["section"]
    schemas = caller.client.call("GET", "/openapi.json")["components"]["schemas"]
    names = _parts_of("CompleteAlgorithm", schemas)
    name = section[0].upper() + section[1:]
    if section == "overview":
        content: Any = {
            "steps": {step: _text_of(schemas[step[0].upper() + step[1:]]) for step in _STEPS},
            "sections": [*_STEPS, "example", "indicators", "candlePatterns"],
        }
        return {"section": section, "content": content, "parts": names}
    if section == "example":
        template = next(caller.client.algorithms.templates())
        content = {step: template.raw[step] for step in _STEPS}
        return {"section": section, "content": content, "parts": []}
    if section == "candlePatterns":
        page = caller.client.call("GET", "/api/trading/indicators", query={"limit": 1})
        return {"section": section, "content": page["candlePatterns"], "parts": []}
    if name in names:
        used = sorted(set(_REF.findall(str(schemas[name]))))
        return {"section": section, "content": schemas[name], "parts": used}
    catalogue = {row["type"]: row for row in caller.client.algorithms.indicators()}
    if section == "indicators":
        return {"section": section, "content": None, "parts": sorted(catalogue)}
    if section not in catalogue:
        raise AssistantError("There is no such section: `overview` lists them.")
    return {"section": section, "content": catalogue[section], "parts": []}


def _parts_of(root: str, schemas: Json) -> list[str]:
    """Return the names of all schemas that the steps refer to."""
    names, unread = {root}, [root]
    while unread:
        used = set(_REF.findall(str(schemas[unread.pop()]))) - names
        names |= used
        unread += used
    return sorted(names - {root})


def _text_of(schema: Json) -> str:
    return str(schema.get("description", ""))


# Algorithms.


def _validate_steps(caller: Caller, arguments: Json) -> dict[str, Any]:
    return dict(caller.client.algorithms.validate(arguments["steps"]).raw)


def _draft_algorithm(caller: Caller, arguments: Json) -> dict[str, Any]:
    steps = arguments["steps"]
    return dict(caller.client.algorithms.create(name=arguments["name"], **steps).raw)


def _version_diff(caller: Caller, arguments: Json) -> dict[str, Any]:
    changes = caller.client.algorithms.changes(
        arguments["algorithmId"], arguments["version"], since=arguments["since"]
    )
    return dict(changes.raw)


# The market.


def _find_symbol(caller: Caller, arguments: Json) -> dict[str, Any]:
    matches = caller.client.market.search(arguments["query"], exchange=arguments.get("exchange"))
    return {"results": [match.raw for match in matches]}


def _coverage(caller: Caller, arguments: Json) -> dict[str, Any]:
    symbol, timeframe = arguments["symbol"], arguments.get("timeframe")
    return dict(caller.client.market.coverage(symbol, timeframe=timeframe).raw)


# Backtests.


def _run_backtest(caller: Caller, arguments: Json) -> dict[str, Any]:
    backtests = caller.client.backtests
    with _SUBMITTING:  # or two calls at once would both see the last free run
        submitted = _submit(caller, arguments)
    with suppress(BacktestNotCompleted):  # the answer has its status and error
        backtests.wait(submitted, seconds=SECONDS_OF_A_RUN)
    return _judged(caller.client, submitted.id)


def _submit(caller: Caller, arguments: Json) -> Backtest:
    """Submit a backtest whose name ends with the key: the runs of an hour are counted by it."""
    backtests = caller.client.backtests
    mark = f"(assistant …{caller.last_four})"
    an_hour_ago = dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)
    recent = takewhile(lambda item: item.created_at > an_hour_ago, backtests.list())
    if sum(item.name.endswith(mark) for item in recent) >= RUNS_IN_AN_HOUR:
        raise AssistantError(
            f"This key has made {RUNS_IN_AN_HOUR} runs in an hour, the most that an assistant may."
            " Each run is a trial that makes the next result less credible."
        )
    return backtests.submit(
        arguments["algorithmId"],
        arguments["startDate"],
        arguments["endDate"],
        name=f"{arguments.get('name', 'Run')} {mark}",
        initial_capital=arguments.get("initialCapital"),
    )


def _read_backtest(caller: Caller, arguments: Json) -> dict[str, Any]:
    return _judged(caller.client, arguments["backtestId"])


def _judged(client: Client, backtest_id: str) -> dict[str, Any]:
    """Return a backtest with its verdict; without one it has no figures."""
    backtest = client.backtests.get(backtest_id)
    answer = {
        "backtestId": backtest.id,
        "status": backtest.status,
        "trials": None,
        "deflatedSharpeRatio": None,
        "laterRuns": None,
        "verdict": {
            "isReady": False,
            "passes": False,
            "sentence": f"There is no verdict: the backtest is {backtest.status}.",
        },
        "performance": None,
        **{name: backtest.raw[name] for name in _FACTS},
        "notes": backtest.notes,
    }
    return answer | _verdict_of(client, backtest) if backtest.status == "completed" else answer


_FACTS: Final = (
    *("name", "algorithmId", "algorithmVersion", "kind", "progress", "symbols", "timeframe"),
    *("startDate", "endDate", "initialCapital", "error", "warnings"),
)


def _verdict_of(client: Client, backtest: Backtest) -> dict[str, Any]:
    try:
        evidence = client.backtests.evidence(backtest, seconds=SECONDS_OF_A_VERDICT)
    except (EvidenceNotReady, UnprocessableEntity) as error:
        return {"verdict": {"isReady": False, "passes": False, "sentence": str(error)}}
    verdict = evidence.raw["verdict"]
    return {
        "trials": evidence.trials,
        "deflatedSharpeRatio": evidence.deflated_sharpe_ratio,
        "laterRuns": _later_runs(client, backtest),
        "verdict": {"isReady": True, **verdict},
        "performance": backtest.raw["performance"],
    }


def _later_runs(client: Client, backtest: Backtest) -> int:
    """Count the newer results of its symbols: a verdict counts only the trials before it."""
    newer = takewhile(lambda item: item.id != backtest.id, client.backtests.list())
    symbols = set(backtest.symbols)
    return sum(
        item.status == "completed" and not symbols.isdisjoint(item.symbols) for item in newer
    )


def _evidence(caller: Caller, arguments: Json) -> dict[str, Any]:
    evidence = caller.client.backtests.evidence(
        arguments["backtestId"], seconds=SECONDS_OF_A_VERDICT
    )
    section = arguments.get("section")
    if section is not None and section not in evidence.sections:
        raise AssistantError("There is no such section: each check is the name of one.")
    return {
        "verdict": evidence.raw["verdict"],
        "trials": evidence.trials,
        "deflatedSharpeRatio": evidence.deflated_sharpe_ratio,
        "checks": evidence.raw["checks"],
        "section": evidence.sections[section] if section else None,
    }


def _explain_candle(caller: Caller, arguments: Json) -> dict[str, Any]:
    explanation = caller.client.backtests.explain(
        arguments["backtestId"], arguments["symbol"], arguments["at"]
    )
    return dict(explanation.raw)


def _compare(caller: Caller, arguments: Json) -> dict[str, Any]:
    """Compare two backtests, both with their verdicts: figures alone would say too much."""
    pair = [_judged(caller.client, arguments[name]) for name in ("firstId", "secondId")]
    if not all(judged["verdict"]["isReady"] for judged in pair):
        return {"first": pair[0], "second": pair[1], "comparison": None}
    comparison = caller.client.backtests.compare(arguments["firstId"], arguments["secondId"])
    return {"first": pair[0], "second": pair[1], "comparison": comparison.raw}


# On paper.


def _standings(caller: Caller, arguments: Json) -> dict[str, Any]:
    rows = islice(caller.client.runs.standings(), _MOST_STANDINGS)
    return {"standings": [row.raw for row in rows]}


def _drift(caller: Caller, arguments: Json) -> dict[str, Any]:
    return dict(caller.client.runs.drift(arguments["algorithmId"], date=arguments.get("date")).raw)


def _pause(caller: Caller, arguments: Json) -> dict[str, Any]:
    paused = caller.client.runs.pause(arguments["algorithmId"])
    return {"id": paused.id, "name": paused.name, "status": paused.status}


_ID: Final = {"type": "string", "pattern": "^[0-9a-f]{24}$"}
_TEXT: Final = {"type": "string", "minLength": 1, "maxLength": 60}
_DATE: Final = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"}
_SYMBOL: Final = {**_TEXT, "description": "EXCHANGE:SYMBOL, such as NSE:RELIANCE"}
_VERSION: Final = {"type": "integer", "minimum": 1, "maximum": 1_000_000}
_STEPS_OF_A_CALL: Final = {
    "type": "object",
    "description": "The steps: see describe_language.",
    "properties": {step: {"type": "object"} for step in _STEPS},
    "additionalProperties": False,
}
_OBJECT: Final = {"type": "object"}
_LIST: Final = {"type": "array"}
_STRING: Final = {"type": "string"}
_NUMBER_OR_NULL: Final = {"type": ["number", "null"]}
_JUDGED: Final = {
    "backtestId": _STRING,
    "status": _STRING,
    "trials": {
        "type": ["integer", "null"],
        "description": "Variants that were tried on this history until this run.",
    },
    "laterRuns": {
        "type": ["integer", "null"],
        "description": "Later results of its symbols: one chosen among them is worth less.",
    },
    "deflatedSharpeRatio": {
        **_NUMBER_OR_NULL,
        "description": "Probability that the Sharpe ratio is above luck after so many trials.",
    },
    "verdict": {
        "type": "object",
        "properties": {
            "isReady": {"type": "boolean"},
            "passes": {"type": "boolean"},
            "sentence": _STRING,
        },
        "required": ["isReady", "passes", "sentence"],
    },
    "performance": {"type": ["object", "null"], "description": "Null without a verdict."},
}

TOOLS: Final = (
    AssistantTool(
        name="describe_language",
        description="Describe a section of the language of algorithms: `overview` (the steps, and"
        " the names of all parts), a step, a part, `example` (a whole algorithm), `indicators`"
        " (their names), an indicator by name, or `candlePatterns`.",
        call=_describe_language,
        properties={"section": {**_TEXT, "pattern": r"^\w+$"}},
        required=("section",),
        answer={"section": _STRING, "content": {}, "parts": _LIST},
    ),
    AssistantTool(
        name="validate_steps",
        description="Judge the steps of an algorithm: faults, probable mistakes, missing fields,"
        " and the history that is stored for them. Nothing is stored.",
        call=_validate_steps,
        properties={"steps": _STEPS_OF_A_CALL},
        required=("steps",),
        answer={"valid": {"type": "boolean"}, "errors": _LIST, "warnings": _LIST},
    ),
    AssistantTool(
        name="draft_algorithm",
        description="Store a new algorithm. It does not trade: only its owner can start it. Steps"
        " may be incomplete. Each call makes another algorithm.",
        call=_draft_algorithm,
        scopes=(TRADE,),
        properties={"name": _TEXT, "steps": _STEPS_OF_A_CALL},
        required=("name", "steps"),
        answer={"id": _STRING, "status": _STRING, "errors": _LIST, "warnings": _LIST},
        is_read_only=False,
        is_idempotent=False,
    ),
    AssistantTool(
        name="version_diff",
        description="Describe a version of an algorithm in words, and its changes since another.",
        call=_version_diff,
        properties={"algorithmId": _ID, "version": _VERSION, "since": _VERSION},
        required=("algorithmId", "version", "since"),
        answer={"version": {"type": "integer"}, "steps": _LIST, "changes": _LIST},
    ),
    AssistantTool(
        name="find_symbol",
        description="Find instruments by symbol, name, ISIN or words such as `NIFTY 24350 CE`.",
        call=_find_symbol,
        properties={"query": _TEXT, "exchange": _TEXT},
        required=("query",),
        answer={"results": _LIST},
    ),
    AssistantTool(
        name="coverage",
        description="Show the stored history of a symbol; with a timeframe also its quality.",
        call=_coverage,
        properties={"symbol": _SYMBOL, "timeframe": _TEXT},
        required=("symbol",),
        answer={"symbol": _STRING, "timeframes": _LIST},
    ),
    AssistantTool(
        name="run_backtest",
        description="Run a stored algorithm on history, and answer with the trials counted, the"
        " deflated Sharpe ratio and the verdict. Every run is counted as a trial, and makes the"
        f" next result less credible. A key has {RUNS_IN_AN_HOUR} runs an hour. Tell the owner all"
        " three, also when the verdict does not pass. If `isReady` is false, use read_backtest"
        " later.",
        call=_run_backtest,
        scopes=(READ, BACKTEST),
        properties={
            "algorithmId": _ID,
            "startDate": _DATE,
            "endDate": _DATE,
            "name": _TEXT,
            "initialCapital": {"type": "number", "minimum": 1, "description": "Rupees."},
        },
        required=("algorithmId", "startDate", "endDate"),
        answer=_JUDGED,
        is_read_only=False,
        is_idempotent=False,
    ),
    AssistantTool(
        name="read_backtest",
        description="Read a backtest with the trials counted, the deflated Sharpe ratio and the"
        " verdict. Tell the owner all three with any figure of it.",
        call=_read_backtest,
        properties={"backtestId": _ID},
        required=("backtestId",),
        answer=_JUDGED,
    ),
    AssistantTool(
        name="evidence",
        description="Show why a verdict passes or not: all checks with their reasons, and the"
        " figures of one section, by the name of its check.",
        call=_evidence,
        properties={"backtestId": _ID, "section": _TEXT},
        required=("backtestId",),
        answer={
            **{name: _JUDGED[name] for name in ("trials", "deflatedSharpeRatio")},
            "verdict": _OBJECT,
            "checks": _LIST,
            "section": {"type": ["object", "null"]},
        },
    ),
    AssistantTool(
        name="explain_candle",
        description="Explain why a backtest entered or did not enter at a candle.",
        call=_explain_candle,
        properties={
            "backtestId": _ID,
            "symbol": _SYMBOL,
            "at": {**_TEXT, "description": "ISO 8601 with a zone, such as 2026-04-09T10:30+05:30"},
        },
        required=("backtestId", "symbol", "at"),
        answer={"symbol": _STRING, "candle": _OBJECT, "entry": _OBJECT},
    ),
    AssistantTool(
        name="compare",
        description="Compare two backtests: both with trials and verdict, their metrics, the"
        " changes of their steps, and whether the difference is more than luck.",
        call=_compare,
        properties={"firstId": _ID, "secondId": _ID},
        required=("firstId", "secondId"),
        answer={
            "first": _OBJECT,
            "second": _OBJECT,
            "comparison": {"type": ["object", "null"]},
        },
    ),
    AssistantTool(
        name="standings",
        description="List the algorithms with their ids, and their profits and positions on paper.",
        call=_standings,
        properties={},
        answer={"standings": _LIST},
    ),
    AssistantTool(
        name="drift",
        description="Compare a session of an algorithm on paper with its backtest.",
        call=_drift,
        properties={"algorithmId": _ID, "date": _DATE},
        required=("algorithmId",),
        answer={"status": _STRING, "differences": _LIST},
    ),
    AssistantTool(
        name="pause",
        description="Pause an algorithm on paper: it enters no more, and its positions stay with"
        " their exits. Only its owner can resume it.",
        call=_pause,
        scopes=(TRADE,),
        properties={"algorithmId": _ID},
        required=("algorithmId",),
        answer={"id": _STRING, "status": _STRING},
        is_read_only=False,
    ),
)
