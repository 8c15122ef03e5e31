"""A stand-in for Kite Connect's WebSocket server: one client at a time, on this machine."""

import base64
import hashlib
import json
import socket
import struct
from queue import SimpleQueue
from threading import Thread
from typing import Any

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE = 0x1, 0x2, 0x8


def quote(token: int, *, time: int, price: float, volume: int) -> bytes:
    """Return a packet of mode `full` (https://kite.trade/docs/connect/v3/websocket/)."""
    paise = round(price * 100)
    head = [token, paise, 1, paise, volume, 0, 0, paise, paise, paise, paise, time, 0, 0, 0, time]
    return struct.pack(">16I", *head).ljust(184, b"\0")


class KiteStandIn:
    """`asked` are the JSON messages of the client, `paths` the paths of its connections."""

    def __init__(self) -> None:
        self.asked: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.paths: SimpleQueue[str] = SimpleQueue()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._client: socket.socket | None = None
        Thread(target=self._serve, daemon=True).start()

    @property
    def root(self) -> str:
        return f"ws://127.0.0.1:{self._listening.getsockname()[1]}"

    def tell(self, *packets: bytes) -> None:
        parts = [struct.pack(">H", len(packet)) + packet for packet in packets]
        self._send(BINARY, struct.pack(">H", len(packets)) + b"".join(parts))

    def break_off(self) -> None:
        """Lose the client, as a network failure does."""
        assert self._client is not None
        self._client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listening.close()

    def _send(self, kind: int, payload: bytes) -> None:
        assert self._client is not None
        size = len(payload)
        head = (
            bytes([0x80 | kind, size])
            if size < 126
            else struct.pack(">BBH", 0x80 | kind, 126, size)
        )
        self._client.sendall(head + payload)

    def _serve(self) -> None:
        while True:
            try:
                self._client, _ = self._listening.accept()
            except OSError:
                return
            with self._client:
                self._greet(self._client)
                while (message := self._message(self._client)) is not None:
                    self.asked.put(message)

    def _greet(self, client: socket.socket) -> None:
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            request += client.recv(4096)
        lines = request.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        key = next(
            line.split(": ")[1] for line in lines if line.lower().startswith("sec-websocket-key")
        )
        accept = base64.b64encode(hashlib.sha1(key.encode() + _GUID).digest()).decode()
        assert headers["x-kite-version"] == "3"
        client.sendall(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode()
        )
        self.paths.put(lines[0].split()[1])

    @staticmethod
    def _message(client: socket.socket) -> dict[str, Any] | None:
        """Return the client's next text, unmasked; None after its end."""
        head = _read(client, 2)
        if head is None or head[0] & 0xF == CLOSE:
            return None
        size = head[1] & 0x7F
        if size == 126:
            size = struct.unpack(">H", _read(client, 2) or b"\0\0")[0]
        mask, body = _read(client, 4), _read(client, size)
        if mask is None or body is None:
            return None
        message: dict[str, Any] = json.loads(bytes(c ^ mask[i % 4] for i, c in enumerate(body)))
        return message


def _read(client: socket.socket, count: int) -> bytes | None:
    data = b""
    while len(data) < count:
        try:
            part = client.recv(count - len(data))
        except OSError:
            return None
        if not part:
            return None
        data += part
    return data
