"""The command `algotrade`: every command, its output on a terminal and in a pipe, its exit code."""

import io
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps.accounts.models import ApiKey, User
from apps.client.algotrade_client import Client, command_line, commands, errors, keys
from apps.client.algotrade_client.terminal import Table, Terminal
from apps.webhooks.event_types import EventType
from tests import make
from tests.accounts.authenticator import authenticator, code_of
from tests.api.test_keys import new_key
from tests.backtests.price_series import wave_candles
from tests.backtests.workers import run_all_queued
from tests.client.wire import URL, DjangoWire, options_of, scripted
from tests.conftest import Api, client_of
from tests.market.bars import store_candles
from tests.symbols.instruments import equity
from tests.webhooks.events import emit

RANGE = ("--from", "2024-02-01", "--to", "2024-02-29")


class Screen(io.StringIO):
    """Output in memory, of a terminal or of a pipe."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


class Typist:
    """Types commands, and reads their output."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self.errors = ""

    def run(self, *words: str, is_terminal: bool, typed: str = "") -> tuple[int, str]:
        """Return the exit code and the output."""
        screens = [Screen(is_terminal=is_terminal) for _ in range(2)]
        self.monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        self.monkeypatch.setattr(sys, "stdout", screens[0])
        self.monkeypatch.setattr(sys, "stderr", screens[1])
        code = command_line.main(words)
        self.errors = screens[1].getvalue()
        return code, screens[0].getvalue()

    def reads(self, *words: str, code: int = 0) -> str:
        """Return what a person reads."""
        ended, text = self.run(*words, is_terminal=True)
        assert ended == code, self.errors
        return text

    def gets(self, *words: str, code: int = 0, typed: str = "") -> Any:
        """Return the JSON that a program gets."""
        ended, text = self.run(*words, is_terminal=False, typed=typed)
        assert ended == code, self.errors
        [line] = text.splitlines()
        return json.loads(line)


@pytest.fixture
def typist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Typist:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setattr("apps.client.algotrade_client.terminal._show_rich", lambda *_: False)
    return Typist(monkeypatch)


@pytest.fixture
def signed_in(monkeypatch: pytest.MonkeyPatch, alice: User) -> Client:
    """Let commands of the test use a key of Alice, and the test's own service."""
    wire = DjangoWire(client_of(), run_all_queued)
    client = Client(URL, new_key(alice)[1], **options_of(wire))
    monkeypatch.setattr(Client, "saved", lambda: client)
    return client


@pytest.fixture
def history(db: None) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-02-01", 20))


@pytest.fixture
def steps_file(tmp_path: Path) -> str:
    file = tmp_path / "steps.json"
    file.write_text(json.dumps({"name": "Crossing", **make.steps()}))
    return str(file)


# Logins.


@pytest.fixture
def wired(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    wire = DjangoWire(client_of())
    for name in ("log_in", "sign_up"):
        monkeypatch.setattr(commands, name, partial(getattr(keys, name), **options_of(wire)))


@pytest.mark.parametrize("words", [("login",), ("mcp", "--http", "8765", "--url")])
def test_a_secret_is_not_sent_unencrypted(typist: Typist, words: tuple[str, ...]) -> None:
    code, _ = typist.run(*words, "http://trading.example", is_terminal=True)
    assert code == command_line.REFUSED
    assert "unencrypted" in typist.errors


@pytest.mark.usefixtures("wired")
def test_a_login_stores_a_key_and_shows_no_secret(typist: Typist, alice: User) -> None:
    words = ("login", URL, "--email", alice.email, "--scopes", "read,backtest", "--insecure")
    shown = typist.gets(*words, typed=f"{make.PASSWORD}\n")
    assert set(shown["scopes"]) == {"read", "backtest"}
    key = keys.saved_login().key
    assert key.startswith("atk_")
    assert key not in json.dumps(shown)
    _, text = typist.run(*words, is_terminal=True, typed=f"{make.PASSWORD}\n")
    assert keys.saved_login().key not in text
    assert keys.saved_login().key[-4:] in text


@pytest.mark.usefixtures("wired")
def test_a_login_may_make_the_account(typist: Typist) -> None:
    words = ("login", URL, "--sign-up", "--email", "me@example.com", "--insecure")
    typist.gets(*words, typed="a long password\nA Trader\n")
    assert User.objects.get().name == "A Trader"


@pytest.mark.usefixtures("wired")
def test_a_login_asks_for_the_second_factor(typist: Typist, api: Api, alice: User) -> None:
    client = api(alice)
    client.post("/api/auth/proof", {"password": make.PASSWORD})
    totp = authenticator(client.post("/api/auth/two-factor").json()["uri"])
    client.post("/api/auth/two-factor/confirm", {"code": code_of(totp)})
    words = ("login", URL, "--email", alice.email, "--insecure")
    code, _ = typist.run(*words, is_terminal=False, typed=f"{make.PASSWORD}\n")
    assert code == command_line.REFUSED
    assert "One-time code is missing" in typist.errors
    typist.gets(*words, typed=f"{make.PASSWORD}\n{code_of(totp, 1)}\n")


@pytest.mark.usefixtures("wired")
def test_a_wrong_password_has_its_exit_code(typist: Typist, alice: User) -> None:
    words = ("login", URL, "--email", alice.email, "--insecure")
    code, text = typist.run(*words, is_terminal=True, typed="wrong password\n")
    assert (code, text) == (command_line.NOT_ALLOWED, "")
    assert "UNAUTHORIZED, request" in typist.errors
    assert not keys.login_file().exists()


def test_a_password_is_not_sent_unencrypted_to_another_machine(typist: Typist) -> None:
    words = ("login", "http://trading.example.com", "--email", "me@example.com")
    code, _ = typist.run(*words, is_terminal=True, typed="a long password\n")
    assert code == command_line.REFUSED
    assert "use https" in typist.errors


def test_without_a_login_a_command_says_what_to_do(typist: Typist) -> None:
    code, _ = typist.run("templates", is_terminal=True)
    assert code == command_line.NOT_ALLOWED
    assert "run `algotrade login`" in typist.errors


# Algorithms.


@pytest.mark.usefixtures("signed_in")
def test_an_algorithm_is_made_of_a_file_or_a_template(typist: Typist, steps_file: str) -> None:
    assert typist.gets("new", steps_file)["status"] == "stopped"
    assert "Other (" in typist.reads("new", steps_file, "--name", "Other")
    listed = typist.gets("templates")
    assert len(listed) > 30
    assert listed[0]["name"] in typist.reads("templates")
    copy = typist.gets("new", "--template", listed[0]["name"].upper(), "--name", "Mine")
    assert (copy["name"], copy["clonedFrom"]) == ("Mine", listed[0]["id"])
    for words in (("new",), ("new", steps_file, "--template", "x")):
        assert typist.run(*words, is_terminal=True)[0] == command_line.REFUSED
        assert "either a file" in typist.errors


@pytest.mark.usefixtures("signed_in")
def test_steps_are_validated_before_they_are_stored(typist: Typist, steps_file: str) -> None:
    assert typist.reads("validate", steps_file).startswith("Valid.")
    wrong = json.dumps(make.steps(exitConditions={"stopLos": {}}))
    answer = typist.gets("validate", "-", typed=wrong, code=commands.ANSWER_IS_NO)
    assert "exitConditions.stopLos" in {error["field"] for error in answer["errors"]}
    typist.gets("new", "-", typed="{}")
    assert "basicInfo" in typist.reads("validate", "last", code=commands.ANSWER_IS_NO)


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize(
    ("words", "typed", "expected"),
    [
        (("new", "missing.json"), "", "No such file"),
        (("new", "-"), "{", "is no JSON"),
        (("new", "-"), "[]", "must hold an object"),
        (("new", "-"), '{"exitConditions": {"stopLos": {}}}', "stopLoss? (VALIDATION_ERROR"),
        (("start", "Nothing"), "", "There is no algorithm 'Nothing'"),
        (("backtest", "show"), "", "There is no backtest 'last'"),
        (("start", "0" * 24), "", "ALGORITHM_NOT_FOUND"),
    ],
)
def test_a_refusal_is_told_in_a_sentence(
    typist: Typist, words: tuple[str, ...], typed: str, expected: str
) -> None:
    code, text = typist.run(*words, is_terminal=True, typed=typed)
    assert (code, text) == (command_line.REFUSED, "")
    assert typist.errors.startswith("error: ")
    assert expected in typist.errors


@pytest.mark.usefixtures("signed_in")
def test_a_name_of_two_algorithms_is_refused_with_their_ids(
    typist: Typist, steps_file: str
) -> None:
    ids = {typist.gets("new", steps_file)["id"] for _ in range(2)}
    assert typist.run("start", "crossing", is_terminal=True)[0] == command_line.REFUSED
    assert all(id in typist.errors for id in ids)


# Backtests.


@pytest.mark.usefixtures("signed_in", "history")
def test_a_backtest_is_run_shown_explained_and_compared(typist: Typist, steps_file: str) -> None:
    typist.gets("new", steps_file)
    text = typist.reads("backtest", "run", "crossing", *RANGE, "--name", "First")
    assert "First (" in text
    assert "netProfit" in text
    assert "] 100 % completed" in typist.errors
    ran = typist.gets("backtest", "run", "Crossing", *RANGE, "--capital", "500000")
    assert (ran["status"], ran["initialCapital"]) == ("completed", 500_000)
    assert typist.errors == "", "no bar without a terminal"
    assert typist.gets("backtest", "show") == ran
    assert typist.reads("backtest", "show", "First", "--link").startswith("http")
    assert "first" in typist.reads("backtest", "compare", "First", "last")
    assert "signal" in typist.reads("backtest", "explain", "First", "NSE:NIFTY", "2024-02-02T10:30")
    explained = typist.gets("backtest", "explain", ran["id"], "NSE:NIFTY", "2024-02-02T05:00Z")
    assert explained["candle"]["time"] == "2024-02-02T05:00:00.000Z"
    submitted = typist.gets("backtest", "run", "Crossing", *RANGE, "--no-wait")
    assert submitted["status"] == "queued"


@pytest.mark.usefixtures("signed_in", "history")
def test_a_verdict_may_be_the_exit_code(typist: Typist, steps_file: str) -> None:
    typist.gets("new", steps_file)
    typist.gets("backtest", "run", "last", *RANGE)
    code, text = typist.run("backtest", "evidence", "--must-pass", is_terminal=False)
    passes = json.loads(text)["verdict"]["passes"]
    assert code == (commands.OK if passes else commands.ANSWER_IS_NO)


def test_evidence_is_shown_with_its_trials(typist: Typist, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = {
        "status": "ready",
        "requestedAt": "2026-11-20T04:15:00.000Z",
        "completedAt": "2026-11-20T04:15:02.000Z",
        "error": None,
        "verdict": {"passes": False, "sentence": "Not proven. Failed: luck."},
        "checks": [{"name": "costs", "status": "pass", "reason": "They leave 40 %."}],
        "sections": {"multipleTesting": {"figures": {"trials": 17, "deflatedSharpeRatio": 0.2}}},
        "notes": [],
    }
    client, _, _ = scripted(*[httpx.Response(200, json=evidence)] * 2)
    monkeypatch.setattr(Client, "saved", lambda: client)
    assert typist.reads("backtest", "evidence", "0" * 24).splitlines() == [
        "Not proven. Failed: luck.",
        "Trials counted: 17.",
        "check  status  reason",
        "costs  pass    They leave 40 %.",
    ]
    assert client.backtests.evidence("0" * 24).deflated_sharpe_ratio == 0.2


@pytest.mark.usefixtures("signed_in")
def test_a_backtest_without_candles_is_refused(typist: Typist, steps_file: str) -> None:
    typist.gets("new", steps_file)
    code, _ = typist.run("backtest", "run", "last", *RANGE, is_terminal=True)
    assert (code, "INSUFFICIENT_DATA" in typist.errors) == (command_line.REFUSED, True)


# Paper trading and candles.


@pytest.mark.usefixtures("signed_in")
def test_an_algorithm_is_started_paused_and_stopped(typist: Typist, steps_file: str) -> None:
    typist.gets("new", steps_file)
    assert "Crossing is active." in typist.reads("start", "Crossing")
    assert typist.gets("pause", "Crossing")["status"] == "paused"
    assert "Crossing is stopped." in typist.reads("stop", "Crossing", "--keep-positions")
    assert typist.run("pause", "Crossing", is_terminal=True)[0] == command_line.REFUSED


@pytest.mark.usefixtures("signed_in")
def test_events_are_followed(typist: Typist, alice: User) -> None:
    for _ in range(3):
        emit(alice, type=EventType.TRADE_EXECUTED)
    code, text = typist.run("tail", "--after", "1", "--count", "2", is_terminal=False)
    assert code == 0
    assert [json.loads(line)["position"] for line in text.splitlines()] == [2, 3]
    assert "trade.executed: " in typist.reads("tail", "--after", "2", "--count", "1")


@pytest.mark.usefixtures("signed_in", "history")
def test_candles_are_read_as_table_json_and_csv(typist: Typist) -> None:
    words = ("candles", "get", "NSE:NIFTY", "15m", "--from", "2024-02-01", "--to", "2024-02-01")
    rows = typist.gets(*words)
    assert len(rows) == 25
    assert rows[0]["close"] == 1003.13
    assert typist.reads(*words).startswith("5 earlier candles are not shown.\ntime")
    code, text = typist.run(*words, "--csv", is_terminal=True)
    assert (code, len(text.splitlines())) == (0, 26)


@pytest.mark.usefixtures("signed_in")
def test_an_operator_loads_candles(typist: Typist, alice: User, tmp_path: Path) -> None:
    equity("NSE:TATASTEEL")
    file = tmp_path / "candles.csv"
    file.write_text("date,open,high,low,close,volume\n2024-02-01T09:15:00+05:30,9,10,8,9,5\n")
    words = ("candles", "load", str(file), "--symbol", "NSE:TATASTEEL", "--timeframe", "15m")
    assert typist.run(*words, is_terminal=True)[0] == command_line.NOT_ALLOWED
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    assert "Nothing is stored." in typist.reads(*words, "--check")
    assert typist.gets(*words)["added"] == 1


# Output, exit codes, completion.


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.NotLoggedIn(), 3),
        (errors.Unauthorized({}, status=401), 3),
        (errors.TokenExpired({}, status=401), 3),
        (errors.Forbidden({}, status=403), 3),
        (errors.ValidationError({}, status=400), 4),
        (errors.NotFound({}, status=404), 4),
        (errors.AlgorithmIncomplete({}, status=422), 4),
        (errors.BacktestNotCompleted(), 1),
        (errors.EvidenceNotReady(), 1),
        (errors.TooManyRequests({}, status=429), 5),
        (errors.InternalServerError({}, status=500), 5),
        (errors.ApiError({}, status=502), 5),
        (errors.ServiceUnreachable(), 5),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes_tell_what_went_wrong(
    typist: Typist, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def fail() -> Client:
        raise error

    monkeypatch.setattr(Client, "saved", fail)
    assert typist.run("templates", is_terminal=True)[0] == code


@pytest.mark.usefixtures("signed_in")
def test_a_deleted_key_is_told(typist: Typist) -> None:
    ApiKey.objects.update(revoked_at=make.NOW)
    assert typist.run("templates", is_terminal=True)[0] == command_line.NOT_ALLOWED
    assert "run `algotrade login` again" in typist.errors


def test_exit_codes_are_documented() -> None:
    page = (Path(commands.__file__).parents[1] / "README.md").read_text()
    for code in (0, 1, 2, 3, 4, 5, 130):
        assert f"\n| {code} |" in page
        assert f" {code} " in command_line.parser().format_help().replace("\n", " ")


def test_names_of_others_do_not_steer_the_terminal() -> None:
    output = io.StringIO()
    screen = Terminal(False, output, output)
    screen.show(None, "a\x1b[2Jb", Table(("n", "x"), [("a\x9b\u202eb\n", 1.5), ("c", None)]))
    assert output.getvalue() == "a?[2Jb\nn         x\na??b?  1.50\nc         -\n"


def test_rich_draws_a_table_and_takes_no_markup() -> None:
    output = Screen(is_terminal=True)
    Terminal(False, output, output).show(None, Table(("name",), [("[red]x[/red]",)]))
    assert "[red]x[/red]" in output.getvalue()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([""], {"login", "new", "backtest", "candles", "tail", "completion"}),
        (["ba"], {"backtest"}),
        (["backtest", ""], {"run", "show", "evidence", "explain", "compare"}),
        (["backtest", "run", "--"], {"--from", "--to", "--name", "--capital", "--no-wait"}),
        (["candles", "get", "NSE:TCS", "1"], {"1m", "15m", "1h", "1d", "1w"}),
        (["completion", ""], {"bash", "fish", "zsh"}),
        (["nothing", ""], set()),
    ],
)
def test_words_are_completed(words: list[str], expected: set[str]) -> None:
    found_words = set(command_line.completions(words))
    assert found_words >= expected
    assert words == [""] or found_words == expected


def test_bash_completes_by_the_printed_script(typist: Typist, tmp_path: Path) -> None:
    _, script = typist.run("completion", "bash", is_terminal=False)
    program = tmp_path / "algotrade"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m apps.client.algotrade_client "$@"\n')
    program.chmod(0o755)
    typed = f"{script}\nCOMP_WORDS=(algotrade backtest run --f); COMP_CWORD=3; _algotrade\n"
    done = subprocess.run(
        ["bash", "-c", typed + 'echo "${COMPREPLY[@]}"'],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "--from\n"


def test_waiting_for_a_busy_service_is_no_failure(
    typist: Typist, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = httpx.Response(503, headers={"Retry-After": "2"}, json={})
    page = {"data": [], "pagination": {"page": 1, "limit": 100, "total": 0, "totalPages": 0}}
    client, _, time = scripted(busy, httpx.Response(200, json=page))
    monkeypatch.setattr(Client, "saved", lambda: client)
    assert typist.gets("templates") == []
    assert time.pauses == [2]
