"""The commands of the command line. Each returns its exit code; a refusal is raised."""

import csv
import datetime as dt
import getpass
import io
import json
import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from .client import Client
from .errors import AlgotradeError, ExtraMissing, Unauthorized
from .keys import log_in, save_login, saved_login, sign_up
from .records import Backtest, CreatedKey, Json, Review
from .terminal import Table, Terminal, in_words

OK: Final = 0
ANSWER_IS_NO: Final = 1  # wrong steps, or a verdict that does not pass

_ID: Final = re.compile(r"[0-9a-f]{24}")
_INDIA: Final = dt.timezone(dt.timedelta(hours=5, minutes=30))
_LAST: Final = "last"
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")
_METRICS: Final = (
    *("totalTrades", "winRate", "profitFactor", "netProfit", "roi", "charges", "maxDrawdown"),
    *("sharpeRatioAnnualized", "expectancy", "exposure"),
)
_ROWS_SHOWN: Final = 20


class CommandError(AlgotradeError):
    """The command cannot be done as it was typed."""


# Logins.


def _is_open(url: str) -> bool:
    """Return whether others on the way to another machine can read what is sent."""
    address = urlsplit(url)
    return address.scheme == "http" and address.hostname not in _LOCAL


def login(arguments: Namespace, screen: Terminal) -> int:
    """Get a key with a password, and store it."""
    url = arguments.url
    if _is_open(url) and not arguments.insecure:
        raise CommandError(f"{url} would carry the password unencrypted: use https, or --insecure.")
    email = arguments.email or _ask("E-mail address: ")
    password = _ask_secret("Password: ")
    options = {"scopes": arguments.scopes.split(","), "key_name": arguments.key_name}
    if arguments.sign_up:
        name = arguments.name or _ask("Your name: ")
        key = sign_up(url, email, password, name=name, **options)
    else:
        key = _log_in(url, email, password, options)
    path = save_login(url, key)
    shown = {
        "url": url,
        "file": str(path),
        "id": key.id,
        "scopes": list(key.scopes),
        "expiresAt": key.raw["expiresAt"],
    }
    until = f"until {key.expires_at:%Y-%m-%d}" if key.expires_at else "for ever"
    screen.show(
        shown,
        f"The key …{key.last_four} of {url} may {', '.join(key.scopes)} {until}.",
        f"It is in {path}.",
    )
    return OK


def _log_in(url: str, email: str, password: str, options: Mapping[str, Any]) -> CreatedKey:
    """Log in; ask for the second factor if the account has one."""
    try:
        return log_in(url, email, password, **options)
    except Unauthorized as error:
        if error.details.get("reason") != "two_factor_required":
            raise
        return log_in(url, email, password, code=_ask_secret("One-time code: "), **options)


def _ask(prompt: str) -> str:
    if sys.stdin.isatty():
        return input(prompt)
    return _line(prompt)


def _ask_secret(prompt: str) -> str:
    """Ask without an echo; a program writes the answer to standard input, a line for each."""
    return getpass.getpass(prompt) if sys.stdin.isatty() else _line(prompt)


def _line(prompt: str) -> str:
    line = sys.stdin.readline()
    if not line:
        raise CommandError(f"{prompt.rstrip(': ')} is missing on standard input.")
    return line.rstrip("\n")


# Algorithms.


def templates(arguments: Namespace, screen: Terminal) -> int:
    """List the templates."""
    listed = list(Client.saved().algorithms.templates())
    rows = [
        (row.name, row.strategy_type, row.timeframe, row.symbols, row.description) for row in listed
    ]
    columns = ("name", "style", "timeframe", "symbols", "description")
    screen.show([row.raw for row in listed], Table(columns, rows))
    return OK


def new(arguments: Namespace, screen: Terminal) -> int:
    """Create an algorithm from a file of steps, or from a template."""
    client = Client.saved()
    if bool(arguments.file) == bool(arguments.template):
        raise CommandError("Give either a file of steps or --template.")
    if arguments.template:
        source = _named(arguments.template, client.algorithms.templates(), "template")
        created = client.algorithms.clone(source, name=arguments.name)
    else:
        steps = _steps_in(arguments.file)
        created = client.algorithms.create(**steps | _present({"name": arguments.name}))
    problems = [f"  {error.field}: {error.message}" for error in created.errors]
    warnings = [f"  warning: {warning.field}: {warning.message}" for warning in created.warnings]
    text = f"{created.name} ({created.id}) is {created.status}."
    screen.show(created.raw, text, *problems, *warnings)
    return OK


def validate(arguments: Namespace, screen: Terminal) -> int:
    """Judge a file of steps or a stored algorithm."""
    client = Client.saved()
    named = arguments.algorithm
    if named == "-" or Path(named).is_file():
        review = client.algorithms.validate(_steps_in(named))
    else:
        review = client.algorithms.validate(_algorithm(client, named))
    screen.show(review.raw, *_sentences(review))
    return OK if review.valid else ANSWER_IS_NO


def _sentences(review: Review) -> list[str]:
    return [
        "Valid." if review.valid else "Not valid.",
        *(f"  {error.field}: {error.message}" for error in review.errors),
        *(f"  warning: {warning.field}: {warning.message}" for warning in review.warnings),
    ]


def _steps_in(name: str) -> dict[str, Any]:
    """Return the JSON object in a file, or on standard input."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text()
        steps = json.loads(text)
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}.") from error
    except ValueError as error:
        raise CommandError(f"{name} is no JSON: {error}.") from error
    if not isinstance(steps, dict):
        raise CommandError(f"{name} must hold an object of steps.")
    return steps


# Backtests.


def run_backtest(arguments: Namespace, screen: Terminal) -> int:
    """Submit a backtest, and wait for its result."""
    client = Client.saved()
    options = _present({"name": arguments.name, "initial_capital": arguments.capital})
    algorithm = _algorithm(client, arguments.algorithm)
    dates = (arguments.start, arguments.end)
    backtest = client.backtests.submit(algorithm, *dates, **options)
    for warning in backtest.warnings:
        screen.note(f"warning: {warning.field}: {warning.message}")
    if not arguments.no_wait:
        try:
            backtest = client.backtests.wait(
                backtest, progress=lambda now: screen.show_progress(now.progress, now.status)
            )
        finally:
            screen.end_progress()
    _show(backtest, screen)
    return OK


def show_backtest(arguments: Namespace, screen: Terminal) -> int:
    """Show a result, and with --link the address of its page."""
    client = Client.saved()
    backtest = client.backtests.get(_backtest(client, arguments.backtest))
    if arguments.link:
        link = client.backtests.share(backtest)
        screen.show(link.raw, link.url)
    else:
        _show(backtest, screen)
    return OK


def _show(backtest: Backtest, screen: Terminal) -> None:
    metrics = backtest.performance or {}
    title = (
        f"{backtest.name or backtest.kind} ({backtest.id}): {backtest.status},"
        f" {', '.join(backtest.symbols)} {backtest.timeframe},"
        f" {backtest.start_date} to {backtest.end_date}"
    )
    rows = [(name, metrics[name]) for name in _METRICS if name in metrics]
    table = [Table(("metric", "value"), rows)] if rows else []
    screen.show(backtest.raw, title, *backtest.notes, *table)


def show_evidence(arguments: Namespace, screen: Terminal) -> int:
    """Show how far a result can be trusted."""
    client = Client.saved()
    evidence = client.backtests.evidence(_backtest(client, arguments.backtest))
    rows = [(check.name, check.status, check.reason) for check in evidence.checks]
    verdict = evidence.verdict
    trials = f"Trials counted: {evidence.trials}." if evidence.trials else ""
    screen.show(
        evidence.raw,
        verdict.sentence if verdict else "No verdict.",
        trials,
        Table(("check", "status", "reason"), rows),
    )
    passes = verdict is not None and verdict.passes
    return OK if passes or not arguments.must_pass else ANSWER_IS_NO


def explain(arguments: Namespace, screen: Terminal) -> int:
    """Explain the entries and exits at a candle."""
    client = Client.saved()
    at = _moment(arguments.at)
    backtest = _backtest(client, arguments.backtest)
    explanation = client.backtests.explain(backtest, arguments.symbol, at)
    lines = [explanation.entry.message]
    for side in explanation.sides:
        lines.append(f"{side['side']}: {'a signal' if side['signal'] else 'no signal'}")
        lines += [_condition(condition) for condition in side["conditions"]]
    lines += [position["message"] for position in explanation.positions]
    screen.show(explanation.raw, *lines)
    return OK


def _condition(condition: Json) -> str:
    return f"  {'yes' if condition['holds'] else 'no '} {condition['text']}"


def compare(arguments: Namespace, screen: Terminal) -> int:
    """Compare two results."""
    client = Client.saved()
    first, second = (_backtest(client, name) for name in (arguments.first, arguments.second))
    comparison = client.backtests.compare(first, second)
    rows = [
        (metric.name, metric.first, metric.second, metric.difference)
        for metric in comparison.metrics
        if metric.difference
    ]
    changes = [
        f"{change.field}: {' '.join(change.before) or '-'} -> {' '.join(change.after) or '-'}"
        for change in comparison.changes
    ]
    table = Table(("metric", "first", "second", "difference"), rows)
    screen.show(comparison.raw, comparison.verdict, *changes, table)
    return OK


# Paper trading.


def start(arguments: Namespace, screen: Terminal) -> int:
    """Start an algorithm on paper."""
    client = Client.saved()
    started = client.runs.start(_algorithm(client, arguments.algorithm))
    warnings = [f"  warning: {warning.field}: {warning.message}" for warning in started.warnings]
    screen.show(started.raw, f"{started.name} is {started.status}.", *warnings)
    return OK


def pause(arguments: Namespace, screen: Terminal) -> int:
    """Enter nothing more, and keep positions with their exits."""
    client = Client.saved()
    paused = client.runs.pause(_algorithm(client, arguments.algorithm))
    screen.show(paused.raw, f"{paused.name} is {paused.status}.")
    return OK


def stop(arguments: Namespace, screen: Terminal) -> int:
    """Stop an algorithm."""
    client = Client.saved()
    close = False if arguments.keep_positions else None
    stopped = client.runs.stop(_algorithm(client, arguments.algorithm), close_positions=close)
    screen.show(stopped.raw, f"{stopped.name} is {stopped.status}.")
    return OK


def tail(arguments: Namespace, screen: Terminal) -> int:
    """Write events as they happen."""
    client = Client.saved()
    symbols = arguments.symbols.split(",") if arguments.symbols else ()
    events = client.events(symbols=symbols, last=arguments.after)
    for event in islice(events, arguments.count):
        answer = {"position": event.position, "type": event.type, "data": event.data}
        head = "" if event.position is None else f"{event.data['createdAt']} {event.position} "
        data = event.data.get("data", event.data)
        screen.show(answer, f"{head}{event.type}: {in_words(data)}")
    return OK


# Candles.


def get_candles(arguments: Namespace, screen: Terminal) -> int:
    """Write stored candles: JSON when piped, CSV with --csv, the last ones on a terminal."""
    text = Client.saved().market.candles_csv(
        arguments.symbol,
        arguments.timeframe,
        start=arguments.start,
        end=arguments.end,
        adjusted=not arguments.as_traded,
    )
    if arguments.csv:
        screen.output.write(text)
        return OK
    columns, *lines = csv.reader(io.StringIO(text))
    rows = [[_value(cell) for cell in line] for line in lines]
    earlier = len(rows) - _ROWS_SHOWN
    screen.show(
        [dict(zip(columns, row, strict=True)) for row in rows],
        f"{earlier} earlier candles are not shown." if earlier > 0 else "",
        Table(columns, rows[-_ROWS_SHOWN:]),
    )
    return OK


def load_candles(arguments: Namespace, screen: Terminal) -> int:
    """Check a file of candles and store it, as an operator."""
    options = _present({"symbol": arguments.symbol, "timeframe": arguments.timeframe})
    if arguments.replace_sample:
        options["replace_sample"] = True
    loaded = Client.saved().market.load(arguments.file, is_check=arguments.check, **options)
    lines = [line for file in loaded.files for line in file["lines"]]
    outcome = f"{loaded.added} candles added" if loaded.stored else "Nothing is stored"
    screen.show(loaded.raw, *lines, f"{outcome}.")
    return OK


def _value(text: str) -> float | bool | str | None:
    """Return the value of a cell of CSV."""
    if text in ("True", "False", ""):
        return None if text == "" else text == "True"
    try:
        return float(text)
    except ValueError:
        return text


# Names.


class _Named(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...


def _algorithm(client: Client, name: str) -> str:
    """Return the id of an algorithm: itself, its name, or `last` for the newest."""
    return _named(name, client.algorithms.list(), "algorithm")


def _backtest(client: Client, name: str) -> str:
    return _named(name, client.backtests.list(), "backtest")


def _named(name: str, records: Iterable[_Named], kind: str) -> str:
    if _ID.fullmatch(name):
        return name
    ids = [
        record.id
        for record in (islice(records, 1) if name == _LAST else records)
        if name in (_LAST, record.name) or record.name.casefold() == name.casefold()
    ]
    if len(ids) != 1:
        raise CommandError(
            f"There is no {kind} {name!r}."
            if not ids
            else f"There are {len(ids)} with the name {name!r}; give an id: {', '.join(ids)}."
        )
    return ids[0]


def _moment(text: str) -> dt.datetime:
    """Return a moment; a time without a zone is Indian."""
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(f"{text!r} must be a time such as 2026-04-09T10:30.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=_INDIA)


def _present(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


# Assistants.


def mcp(arguments: Namespace, screen: Terminal) -> int:
    """Serve tools to an assistant, by the Model Context Protocol."""
    try:
        from . import assistants
    except ImportError as error:
        message = "Assistants need a package: pip install 'algotrade-client[mcp]'"
        raise ExtraMissing(message) from error
    if arguments.http is None:
        assistants.serve_standard_input()
    else:
        if arguments.url and _is_open(arguments.url):
            raise CommandError(f"{arguments.url} would carry keys unencrypted: use https.")
        assistants.serve_http(arguments.url or saved_login().url, arguments.http)
    return OK
