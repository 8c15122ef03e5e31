"""A service for the examples of the READMEs: Django's test client behind a port."""

import subprocess
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from typing import Any

from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from apps.core.requests.long_poll import get_long_poll

COMMANDS = "/manage.py"


class ExampleService(HTTPServer):
    """Answers curl with the test client, in the thread and the transaction of the test.

    A request for COMMANDS runs the manage.py command in the lines of its body. `calls` lists
    method, address and body of all other requests. `work` does the queued jobs. The first GET that
    waits for a backtest times out, as for a long backtest.
    """

    timeout = 0.05

    def __init__(self, client: APIClient, work: Callable[[], object]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.client = client
        self.work = work
        self.calls: list[tuple[str, str, str]] = []

    def serve(self, process: "subprocess.Popen[Any]") -> None:
        """Answer until the process has ended."""
        while process.poll() is None:
            self.handle_request()

    def answer(self, method: str, address: str, body: str, headers: dict[str, str]) -> Any:
        is_first = (method, address, body) not in self.calls
        self.calls.append((method, address, body))
        response = self.client.generic(
            method, address, body, headers.get("Content-Type", ""), headers=headers
        )
        poll = get_long_poll(response)
        if poll is not None and not (is_first and method == "GET"):
            self.work()
            response.content = poll.render()
        return response


class _Handler(BaseHTTPRequestHandler):
    server: ExampleService

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path == COMMANDS:
            self._run(body.splitlines())
            return
        response = self.server.answer(self.command, self.path, body, dict(self.headers))
        self._send(response.status_code, response.getvalue(), response.headers.get("Retry-After"))

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815  # names of http.server

    def _run(self, words: list[str]) -> None:
        output = StringIO()
        try:
            call_command(*words, stdout=output, stderr=output)
        except CommandError as error:
            self._send(400, f"{words}: {error}".encode())
        else:
            self._send(200, output.getvalue().encode())

    def _send(self, status: int, body: bytes, retry_after: str | None = None) -> None:
        self.send_response(status)
        if retry_after is not None:
            self.send_header("Retry-After", retry_after)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write no line for each request."""
