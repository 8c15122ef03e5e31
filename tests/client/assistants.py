"""Assistants in tests: the SDK's own client, in a thread beside the transaction of the test."""

import asyncio
import json
import queue
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

import httpx
import mcp
from mcp_types import CallToolResult

from apps.client.algotrade_client import assistants
from apps.client.algotrade_client.keys import Login
from tests.client.wire import URL, options_of

Script = Callable[[mcp.Client], Awaitable[Any]]


class QueuedWire(httpx.BaseTransport):
    """Lets the thread of the test answer requests that come from other threads."""

    def __init__(self, wire: httpx.BaseTransport) -> None:
        self.wire = wire
        self.waiting: queue.Queue[tuple[httpx.Request, Future[httpx.Response]]] = queue.Queue()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer: Future[httpx.Response] = Future()
        self.waiting.put((request, answer))
        return answer.result()

    def answer_next(self) -> None:
        try:
            request, answer = self.waiting.get(timeout=0.02)
        except queue.Empty:
            return
        try:
            answer.set_result(self.wire.handle_request(request))
        except Exception as error:  # the client of the request gets it
            answer.set_exception(error)


def run_beside(work: Callable[[], Awaitable[Any]], answer_next: Callable[[], object]) -> Any:
    """Run a coroutine in another thread, and answer its requests here until it ends."""
    result: Future[Any] = Future()

    async def whole() -> Any:
        return await work()

    def run() -> None:
        try:
            result.set_result(asyncio.run(whole()))
        except BaseException as error:
            result.set_exception(error)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        answer_next()
    thread.join()
    return result.result()


def converse(script: Script, wire: httpx.BaseTransport, key: str) -> Any:
    """Let an assistant with this key work in memory, and return the result of its script."""
    queued = QueuedWire(wire)
    server = assistants.assistant_server(lambda _: Login(URL, key), **options_of(queued))

    async def work() -> Any:
        async with mcp.Client(server) as client:
            return await script(client)

    return run_beside(work, queued.answer_next)


def content_of(result: CallToolResult) -> dict[str, Any]:
    """Return the structured content, which the text repeats and nothing adds to."""
    [text] = result.content
    assert text.type == "text"
    content: dict[str, Any] = result.structured_content
    assert json.loads(text.text) == content
    return content


async def ask(client: mcp.Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Return the content of an answer, which is no refusal."""
    result = await client.call_tool(tool, arguments)
    content = content_of(result)
    assert not result.is_error, content
    return content


async def refusal(client: mcp.Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Return the error of a refusal."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    error: dict[str, Any] = content_of(result)["error"]
    return error
