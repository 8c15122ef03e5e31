"""A stand-in for chats on this machine: Telegram's Bot API, and the webhooks of Slack and Discord.

Each refuses what the real one refuses, so a message that passes here has the form that it wants.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

import orjson

TOKEN = "123456789:AAFakeTokenOfNoBotAtAll_0000000000"

# Answers a message: (status, body), or None to take it.
Refuse = Callable[[dict[str, Any]], tuple[int, dict[str, Any]] | None]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """An accepted message: its time, by `time.time`, its path, its chat and its text."""

    at: float
    path: str
    chat: object
    text: str


@dataclass(slots=True)
class Chats:
    """The stand-in: what it took, and how many it refused by status."""

    port: int
    refuse: Refuse = lambda body: None
    delay: Callable[[], float] = lambda: 0.0  # seconds between taking a message and the answer
    updates: list[dict[str, Any]] = field(default_factory=list)
    taken: list[ChatMessage] = field(default_factory=list)
    refused: Counter[int] = field(default_factory=Counter)
    asked: int = 0
    lock: Lock = field(default_factory=Lock)

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def slack(self) -> str:
        return f"{self.api}/services/T0/B0/secretOfSlack"

    @property
    def discord(self) -> str:
        return f"{self.api}/api/webhooks/1/secretOfDiscord"

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.taken]

    def say(self, text: str, *, chat: int = 42) -> None:
        """Let a user write to the bot."""
        number = len(self.updates) + 1
        message = {"chat": {"id": chat}, "text": text}
        self.updates.append({"update_id": number, "message": message})

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        if path.endswith("/getUpdates"):
            self.asked += 1
        refusal = self.refuse(body) or self._refusal_of_form(path, body)
        if refusal is not None:
            self.refused[refusal[0]] += 1
            return refusal[0], orjson.dumps(refusal[1])
        if path == f"/bot{TOKEN}/getUpdates":
            new = [update for update in self.updates if update["update_id"] >= body["offset"]]
            return 200, orjson.dumps({"ok": True, "result": new[: body["limit"]]})
        text = body.get("text") or body["content"]
        self.taken.append(ChatMessage(time.time(), path, body.get("chat_id"), text))
        return 200, b'{"ok":true}'

    def _refusal_of_form(
        self, path: str, body: dict[str, Any]
    ) -> tuple[int, dict[str, Any]] | None:
        if path.startswith("/bot"):
            if not path.startswith(f"/bot{TOKEN}/"):
                return 401, {"ok": False, "description": f"Unauthorized: {path}"}
            if path.endswith("/sendMessage") and not 0 < len(body.get("text", "")) <= 4096:
                return 400, {"ok": False, "description": "Bad Request: message text is empty"}
        elif path.startswith("/services/"):
            if not isinstance(body.get("text"), str):
                return 400, {"error": "no_text"}
        elif not 0 < len(body.get("content", "")) <= 2000:
            return 400, {"message": "Cannot send an empty message", "code": 50006}
        return None


@contextmanager
def chats() -> Iterator[Chats]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # as http.server calls it
            length = int(self.headers["content-length"])
            content = self.rfile.read(length)
            if len(content) < length:  # its sender was killed: nothing came
                self.close_connection = True
                return
            with made.lock:
                status, answer = made.answer(self.path, orjson.loads(content))
            time.sleep(made.delay())
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *words: object) -> None:
            """Log nothing to the terminal."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 512

        def handle_error(self, request: object, client_address: object) -> None:
            """Ignore a killed sender."""

    with Server(("127.0.0.1", 0), Handler) as server:
        made = Chats(server.server_address[1])
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield made
        finally:
            server.shutdown()
