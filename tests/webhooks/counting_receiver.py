"""A receiver that remembers every request by its webhook-id, and answers as instructed."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from standardwebhooks import Webhook, WebhookVerificationError

Answer = Callable[[BaseHTTPRequestHandler], None]
"""What to do with one request, whose body has been read."""


@dataclass(frozen=True, slots=True)
class Request:
    """An accepted request: its time, by `time.time`, its content, and whether the secret
    signed it.
    """

    at: float
    headers: dict[str, str]
    body: bytes
    is_signed: bool

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


@dataclass(slots=True)
class Counted:
    """A counting receiver; without a `secret` signatures are not checked."""

    port: int
    secret: str = ""
    good: list[Request] = field(default_factory=list)
    bad: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def is_signed(self, headers: dict[str, str], body: bytes) -> bool:
        """Return whether the public library accepts it, at the moment of receipt: it also checks
        the age.
        """
        try:
            Webhook(self.secret).verify(body, headers, json_parse=False)
        except WebhookVerificationError:
            return False
        return True


def well(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(204)
    handler.end_headers()


@contextmanager
def counting(answer: Callable[[], Answer] = lambda: well) -> Iterator[Counted]:
    """Yield a receiver.

    `answer` chooses the answer to the next request; all but `well` counts as bad.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # as http.server calls it
            length = int(self.headers["content-length"])
            body = self.rfile.read(length)
            if len(body) < length:  # its sender was killed: nothing came
                self.close_connection = True
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            chosen = answer()
            if chosen is well:
                signed = bool(made.secret) and made.is_signed(headers, body)
                made.good.append(Request(time.time(), headers, body, signed))
            else:
                made.bad += 1
            chosen(self)

        def log_message(self, format: str, *words: object) -> None:
            """Log nothing to the terminal."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 512

        def handle_error(self, request: object, client_address: object) -> None:
            """Ignore a killed sender."""

    with Server(("127.0.0.1", 0), Handler) as server:
        made = Counted(server.server_address[1])
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield made
        finally:
            server.shutdown()
