"""The command `algotrade`: its arguments, exit codes and completion."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from . import commands
from .errors import (
    AlgotradeError,
    ApiError,
    BacktestNotCompleted,
    EvidenceNotReady,
    Forbidden,
    NotLoggedIn,
    ServiceUnreachable,
    Unauthorized,
)
from .terminal import Terminal, terminal

NOT_ALLOWED: Final = 3
REFUSED: Final = 4
NO_SERVICE: Final = 5
INTERRUPTED: Final = 130

Run = Callable[[argparse.Namespace, Terminal], int]


@dataclass(frozen=True)
class Argument:
    """An argument of a command, as argparse takes it."""

    names: Sequence[str]
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Command:
    """A command: its words, such as `backtest run`, and its arguments."""

    words: str
    run: Run
    arguments: Sequence[Argument] = field(default_factory=tuple)


def argument(*names: str, **settings: Any) -> Argument:
    return Argument(names, settings)


_ALGORITHM: Final = argument("algorithm", help="an id, a name, or `last`")
_BACKTEST: Final = argument(
    "backtest", nargs="?", default="last", help="an id, a name, or `last`, the default"
)
_FROM: Final = argument("--from", dest="start", metavar="DATE")
_TO: Final = argument("--to", dest="end", metavar="DATE")
_SYMBOL: Final = argument("--symbol", metavar="EXCHANGE:SYMBOL")
_TIMEFRAMES: Final = ("1m", "5m", "15m", "30m", "1h", "4h", "1d", "1w")

COMMANDS: Final = (
    Command(
        "login",
        commands.login,
        (
            argument("url", nargs="?", default="http://127.0.0.1:8000", help="the service"),
            argument("--email"),
            argument("--sign-up", action="store_true", help="make an account first"),
            argument("--name", help="your name, with --sign-up"),
            argument("--scopes", default="read,backtest,trade", help="what the key may do"),
            argument("--key-name", default="algotrade command line"),
            argument("--insecure", action="store_true", help="allow http to another machine"),
        ),
    ),
    Command("templates", commands.templates),
    Command(
        "new",
        commands.new,
        (
            argument("file", nargs="?", help="JSON of the steps; - for standard input"),
            argument("--template", help="a name of `algotrade templates`"),
            argument("--name"),
        ),
    ),
    Command(
        "validate",
        commands.validate,
        (argument("algorithm", help="a file of steps, - , or an algorithm"),),
    ),
    Command(
        "backtest run",
        commands.run_backtest,
        (
            _ALGORITHM,
            argument("--from", dest="start", metavar="DATE", required=True),
            argument("--to", dest="end", metavar="DATE", required=True),
            argument("--name"),
            argument("--capital", type=float, metavar="RUPEES"),
            argument("--no-wait", action="store_true", help="only submit it"),
        ),
    ),
    Command(
        "backtest show",
        commands.show_backtest,
        (_BACKTEST, argument("--link", action="store_true", help="a link to the result page")),
    ),
    Command(
        "backtest evidence",
        commands.show_evidence,
        (
            _BACKTEST,
            argument("--must-pass", action="store_true", help="exit with 1 if it does not pass"),
        ),
    ),
    Command(
        "backtest explain",
        commands.explain,
        (
            argument("backtest", help="an id, a name, or `last`"),
            argument("symbol", metavar="EXCHANGE:SYMBOL"),
            argument("at", help="a time in the candle, Indian without a zone: 2026-04-09T10:30"),
        ),
    ),
    Command("backtest compare", commands.compare, (argument("first"), argument("second"))),
    Command("start", commands.start, (_ALGORITHM,)),
    Command("pause", commands.pause, (_ALGORITHM,)),
    Command(
        "stop",
        commands.stop,
        (
            _ALGORITHM,
            argument("--keep-positions", action="store_true", help="let exits close them"),
        ),
    ),
    Command(
        "tail",
        commands.tail,
        (
            argument("--symbols", help="also hints of their bars, separated by commas"),
            argument("--after", type=int, metavar="POSITION", help="begin after this event"),
            argument("--count", type=int, help="end after so many"),
        ),
    ),
    Command(
        "candles get",
        commands.get_candles,
        (
            argument("symbol", metavar="EXCHANGE:SYMBOL"),
            argument("timeframe", choices=_TIMEFRAMES),
            _FROM,
            _TO,
            argument("--as-traded", action="store_true", help="not adjusted for splits"),
            argument("--csv", action="store_true"),
        ),
    ),
    Command(
        "candles load",
        commands.load_candles,
        (
            argument("file"),
            _SYMBOL,
            argument("--timeframe", choices=_TIMEFRAMES),
            argument("--check", action="store_true", help="store nothing"),
            argument("--replace-sample", action="store_true"),
        ),
    ),
    Command(
        "mcp",
        commands.mcp,
        (
            argument("--http", type=int, metavar="PORT", help="instead of standard input"),
            argument("--url", help="the service, with --http; by default that of the login"),
        ),
    ),
)

SCRIPTS: Final = {
    "bash": """\
_algotrade() { mapfile -t COMPREPLY < <(algotrade complete -- "${COMP_WORDS[@]:1:COMP_CWORD}"); }
complete -o default -F _algotrade algotrade
""",
    "zsh": """\
#compdef algotrade
_algotrade() { compadd -- ${(f)"$(algotrade complete -- "${(@)words[2,CURRENT]}")"} || _files }
compdef _algotrade algotrade
""",
    "fish": """\
complete -c algotrade -a '(algotrade complete -- (commandline -opc)[2..] (commandline -ct))'
""",
}
"""Loaded by `eval "$(algotrade completion bash)"`. They ask `algotrade complete` for words."""


def _print_script(arguments: argparse.Namespace, screen: Terminal) -> int:
    """Print the completion script of a shell."""
    screen.output.write(SCRIPTS[arguments.shell])
    return commands.OK


def _complete(arguments: argparse.Namespace, screen: Terminal) -> int:
    """Print the words that may stand at the end of a line."""
    for word in completions(arguments.words):
        print(word, file=screen.output)
    return commands.OK


_OWN: Final = (
    Command("completion", _print_script, (argument("shell", choices=sorted(SCRIPTS)),)),
    Command("complete", _complete, (argument("words", nargs="*"),)),
)


def completions(words: Sequence[str]) -> list[str]:
    """Return the words that may replace the last one."""
    *before, current = words or [""]
    typed = " ".join(word for word in before if not word.startswith("-"))
    choices = [
        command.words.removeprefix(typed).split()[0]
        for command in (*COMMANDS, _OWN[0])
        if command.words.startswith(typed) and command.words != typed
    ]
    for command in (*COMMANDS, _OWN[0]):
        if f"{typed} ".startswith(f"{command.words} "):
            for parameter in command.arguments:
                choices += [name for name in parameter.names if name.startswith("-")]
                choices += parameter.settings.get("choices", ())
    return sorted({choice for choice in choices if choice.startswith(current)})


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(
        prog="algotrade",
        description="Trading algorithms, backtests and paper trading of an algotrade service.",
        epilog="Exit codes: 0 done; 1 the answer is no; 2 wrong arguments; 3 not logged in or not"
        " allowed; 4 refused; 5 no answer; 130 interrupted.",
    )
    top.add_argument("--json", action="store_true", help="JSON on a terminal too")
    groups: dict[str, Any] = {"": top.add_subparsers(required=True, metavar="COMMAND")}
    for command in (*COMMANDS, *_OWN):
        group, _, word = command.words.rpartition(" ")
        if group not in groups:
            members = [command.words for command in COMMANDS if command.words.startswith(group)]
            names = ", ".join(words.rpartition(" ")[2] for words in members)
            added = groups[""].add_parser(group, help=f"{names}.", description=f"{names}.")
            groups[group] = added.add_subparsers(required=True, metavar="COMMAND")
        summary = command.run.__doc__
        shown = {} if command is _OWN[1] else {"help": summary}
        added = groups[group].add_parser(word, description=summary, **shown)
        added.set_defaults(run=command.run)
        for parameter in command.arguments:
            added.add_argument(*parameter.names, **parameter.settings)
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    arguments = parser().parse_args(words)
    screen = terminal(is_json=arguments.json)
    run: Run = arguments.run
    try:
        return run(arguments, screen)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return commands.OK
    except AlgotradeError as error:
        screen.note(f"error: {_words_of(error)}")
        if isinstance(error, Unauthorized) and run is not commands.login:
            screen.note("The key has expired or was deleted: run `algotrade login` again.")
        return exit_code_of(error)


def exit_code_of(error: AlgotradeError) -> int:
    if isinstance(error, NotLoggedIn | Unauthorized | Forbidden):
        return NOT_ALLOWED
    if isinstance(error, BacktestNotCompleted | EvidenceNotReady):
        return commands.ANSWER_IS_NO
    if isinstance(error, ServiceUnreachable):
        return NO_SERVICE
    is_busy = isinstance(error, ApiError) and (error.status == 429 or error.status >= 500)
    return NO_SERVICE if is_busy else REFUSED


def _words_of(error: AlgotradeError) -> str:
    if not isinstance(error, ApiError) or error.request_id is None:
        return str(error)
    return f"{error.message} ({error.code_on_the_wire}, request {error.request_id})"
