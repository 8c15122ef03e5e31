"""nginx and Caddy in front of a service, by the files of config/deploy."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.faults.service import Service, free_port
from tests.processes import PROJECT, until

FOLDER: Final = PROJECT / "config" / "deploy"
SITE: Final = "trade.example.com"


def needs(program: str) -> pytest.MarkDecorator:
    missing = shutil.which(program) is None
    return pytest.mark.skipif(missing, reason=f"no {program} on this machine")


@contextmanager
def nginx(
    folder: Path, behind: Service, port: int, certificate: Path, *, tls: bool = True
) -> Iterator[None]:
    site = (FOLDER / "nginx.conf").read_text()
    replaced = {
        "127.0.0.1:8000": f"127.0.0.1:{behind.port}",
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "listen 443 ssl http2;": f"listen 127.0.0.1:{port}{' ssl http2' if tls else ''};",
        f"/etc/ssl/{SITE}.pem": str(certificate),
        f"/etc/ssl/{SITE}.key": str(certificate),
        "/var/log/nginx/access.log": str(folder / "access.log"),
    }
    for text, replacement in replaced.items():
        assert text in site
        site = site.replace(text, replacement)
    (folder / "site.conf").write_text(site)
    log = folder / "nginx.log"
    (folder / "nginx.conf").write_text(
        # Workers of a nginx started by root would use another account, without access to the
        # folder.
        f"{'user root; ' if os.geteuid() == 0 else ''}daemon off; pid {folder}/pid;"
        f" error_log {log};\n"
        "events { worker_connections 4096; }\n"
        f"http {{ access_log off; client_body_temp_path {folder}/body;"
        f" proxy_temp_path {folder}/proxy; include {folder}/site.conf; }}\n"
    )
    with _program(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")], folder, port):
        yield


@contextmanager
def caddy(folder: Path, behind: Service, port: int, certificate: Path) -> Iterator[None]:
    site = (FOLDER / "Caddyfile").read_text()
    replaced = {
        "\n{\n": "\n{\n\tadmin off\n\tauto_https disable_redirects\n",
        "{$SERVICE:127.0.0.1:8000}": f"127.0.0.1:{behind.port}",
        f"{{$SITE:{SITE}}} {{": f"https://{SITE}:{port} {{\n\ttls {certificate} {certificate}",
    }
    for text, replacement in replaced.items():
        assert text in site
        site = site.replace(text, replacement)
    (folder / "Caddyfile").write_text(site)
    command = ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    with _program(command, folder, port):
        yield


@contextmanager
def _program(command: list[str], folder: Path, port: int) -> Iterator[None]:
    environment = {"PATH": "/usr/sbin:/usr/bin:/bin", "HOME": str(folder)}
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            until(lambda: _is_open(port))
            yield
        finally:
            process.terminate()
            process.wait(30)


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
