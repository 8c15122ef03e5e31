"""`algotrade mcp` as a process: standard input, and HTTP with the keys of its callers."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import httpx2
import mcp
import pytest
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from rest_framework.test import APIClient

from apps.accounts.credentials.api_keys import KeyScope
from apps.accounts.models import User
from apps.client.algotrade_client import assistants, command_line, commands
from tests.api.test_keys import new_key
from tests.backtests.workers import run_all_queued
from tests.client.assistants import ask, run_beside
from tests.contract.readme_service import ExampleService
from tests.faults.service import free_port
from tests.processes import PROJECT

COMMAND: Final = ("-m", "apps.client.algotrade_client", "mcp")


def names_in(listed: mcp.ListToolsResult) -> set[str]:
    return {tool.name for tool in listed.tools}


def environment(**variables: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PROJECT), **variables}


@pytest.mark.timeout(120)
def test_standard_input_serves_the_stored_login(alice: User) -> None:
    _, key = new_key(alice, [KeyScope.READ, KeyScope.TRADE])
    with ExampleService(APIClient(), run_all_queued) as service:
        url = f"http://localhost:{service.server_port}"
        server = StdioServerParameters(
            command=sys.executable,
            args=list(COMMAND),
            env=environment(ALGOTRADE_URL=url, ALGOTRADE_KEY=key),
            cwd=str(PROJECT),
        )

        async def work() -> set[str]:
            async with mcp.Client(server) as client:
                assert (await ask(client, "standings"))["standings"] == []
                return names_in(await client.list_tools())

        names = run_beside(work, service.handle_request)
    assert {"pause", "standings"} <= names
    assert "run_backtest" not in names


@contextmanager
def http_server(url: str, port: int) -> Iterator[str]:
    """Run the server without any stored login."""
    words = (sys.executable, *COMMAND, "--http", str(port), "--url", url)
    with subprocess.Popen(words, cwd=PROJECT, env=environment(HOME="/nowhere")) as process:
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


async def until_it_listens(address: str) -> int:
    """Return the status of a request without a key, when the server has begun."""
    async with httpx.AsyncClient() as client:
        while True:
            try:
                answer = await client.post(address, json={})
            except httpx.ConnectError:
                await asyncio.sleep(0.1)
            else:
                assert answer.headers["WWW-Authenticate"] == "Bearer"
                return answer.status_code


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_http_serves_each_caller_by_the_key_of_the_request(alice: User) -> None:
    keys = [new_key(alice, scopes)[1] for scopes in ([KeyScope.READ], list(KeyScope))]
    with (
        ExampleService(APIClient(), run_all_queued) as service,
        http_server(f"http://localhost:{service.server_port}", free_port()) as address,
    ):

        async def names_of(key: str) -> set[str]:
            headers = {"Authorization": f"Bearer {key}"}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=30) as sender,
                mcp.Client(streamable_http_client(address, http_client=sender)) as client,
            ):
                assert (await ask(client, "standings"))["standings"] == []
                return names_in(await client.list_tools())

        async def work() -> Any:
            assert await until_it_listens(address) == 401
            return [await names_of(key) for key in keys]

        reading, whole = run_beside(work, service.handle_request)
    assert len(reading) == 11
    assert len(whole) == 14


def test_without_the_package_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, assistants.__name__, None)
    monkeypatch.delattr(sys.modules[assistants.__package__ or ""], "assistants")
    assert command_line.main(["mcp"]) == command_line.REFUSED
    assert "algotrade-client[mcp]" in capsys.readouterr().err


def test_without_a_login_standard_input_is_not_served(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert command_line.main(["mcp"]) == command_line.NOT_ALLOWED


def test_the_command_chooses_the_transport(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[tuple[str, int]] = []
    monkeypatch.setattr(assistants, "serve_http", lambda *address: served.append(address))
    assert command_line.main(["mcp", "--http", "8765", "--url", "https://x.example"]) == commands.OK
    assert served == [("https://x.example", 8765)]
