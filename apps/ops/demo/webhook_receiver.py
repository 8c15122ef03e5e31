"""The receiver of the demo's webhooks: it keeps signed messages and responds with 204."""

import hmac
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from apps.webhooks.services import sign_message


@dataclass(slots=True)
class WebhookReceiver:
    """Messages by id. It refuses every message until it has its `secret`."""

    url: str
    secret: str = field(default="", repr=False)
    messages: dict[str, Any] = field(default_factory=dict)

    def accept(self, headers: Message, body: bytes) -> bool:
        """Keep a message if it is signed by the secret."""
        message, at = headers["webhook-id"], headers["webhook-timestamp"]
        expected = (
            sign_message([self.secret], id=message, at=int(at), body=body) if self.secret else ""
        )
        if not hmac.compare_digest(headers["webhook-signature"], expected):
            return False
        self.messages[message] = json.loads(body)  # the same message may come again
        return True

    def count_by_type(self) -> Counter[str]:
        return Counter(message["type"] for message in self.messages.values())


@contextmanager
def receiving() -> Iterator[WebhookReceiver]:
    """Serve a receiver at a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204 if receiver.accept(self.headers, body) else 401)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: the demo prints the delivered messages."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = WebhookReceiver(f"http://127.0.0.1:{server.server_port}/")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield receiver
        finally:
            server.shutdown()
