"""Where the demo has its webhooks sent: it keeps what is signed and answers 204."""

import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from apps.webhooks.signing import sign


@dataclass(slots=True)
class Listener:
    """Until it knows its `secret` it refuses what comes. Any: JSON of many shapes, by message."""

    url: str
    secret: str = field(default="", repr=False)
    heard: dict[str, Any] = field(default_factory=dict)

    def take(self, headers: Any, body: bytes) -> bool:
        """Any: what `http.server` reads. Whether the message is signed by the secret."""
        message, at = headers["webhook-id"], headers["webhook-timestamp"]
        expected = sign([self.secret], id=message, at=int(at), body=body) if self.secret else ""
        if not hmac.compare_digest(headers["webhook-signature"], expected):
            return False
        self.heard[message] = json.loads(body)  # the same message may come again
        return True


@contextmanager
def listening() -> Iterator[Listener]:
    """At a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204 if listener.take(self.headers, body) else 401)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """The demo says what it heard."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        listener = Listener(f"http://127.0.0.1:{server.server_port}/")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield listener
        finally:
            server.shutdown()
