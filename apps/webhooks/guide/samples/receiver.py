"""Receive webhooks: WEBHOOK_SECRET=whsec_... PORT=9000 python receiver.py"""

import base64
import hashlib
import hmac
import json
import os
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"]
TOLERANCE = 5 * 60  # seconds: an older message may be one that somebody recorded
MOST = 64 * 1024  # bytes: no message is longer
seen: set[str] = set()  # in earnest: a unique column of your database


def verify(secret: str, headers: Mapping[str, str], body: bytes) -> None:
    """Raises ValueError unless the message is ours, unchanged and new.

    `headers` have names in lower case; `body` is the raw body, before any parsing.
    """
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit()):
        raise ValueError("no timestamp")
    if abs(time.time() - int(timestamp)) > TOLERANCE:
        raise ValueError("too old, or a clock is wrong")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    # There are two while you change the secret; either is enough.
    given = headers.get("webhook-signature", "").encode().split()
    if not any(hmac.compare_digest(signature, expected) for signature in given):
        raise ValueError("not signed with this secret")


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        try:
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(max(0, min(length, MOST)))
            verify(SECRET, {name.lower(): text for name, text in self.headers.items()}, body)
        except ValueError as refused:
            self.send_error(401, str(refused))
            return
        message_id = self.headers["webhook-id"]
        if message_id not in seen:  # the same message may come again
            seen.add(message_id)
            event = json.loads(body)
            print(event["type"], event["sequence"], event["data"], flush=True)
        self.send_response(204)
        self.end_headers()


if __name__ == "__main__":
    ThreadingHTTPServer(
        ("127.0.0.1", int(os.environ.get("PORT", "9000"))), Receiver
    ).serve_forever()
