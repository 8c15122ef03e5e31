"""The examples of config/deploy: units, image, compose file, proxies and alerts."""

import ast
import http.client
import json
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest
import yaml
from django.core.management import get_commands, load_command_class
from django.utils import timezone

from apps.ops.monitoring import metrics
from apps.ops.monitoring.backlog import read_backlog
from apps.ops.processes import presence
from tests.config.proxies import FOLDER, SITE, caddy, needs, nginx
from tests.faults.service import Caller, Service, free_port, fresh_folder, service
from tests.ops.test_metrics import samples
from tests.processes import PROJECT, until
from tests.webhooks.certificates import Authority

UNITS: Final = ("algotrade.service", "algotrade-worker@.service", "algotrade-backup.service")
TIMER: Final = "algotrade-backup.timer"


# Units.


@needs("systemd-analyze")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for name in (*UNITS, TIMER):
        text = (FOLDER / name).read_text()
        installed = text.replace("/opt/algotrade", str(PROJECT)).replace(
            "User=algotrade", "User=daemon"
        )
        (tmp_path / name).write_text(installed)
    paths = [tmp_path / name for name in (UNITS[0], UNITS[2], TIMER)]
    paths.append(tmp_path / "algotrade-worker@backtests.service")
    paths[-1].symlink_to(tmp_path / UNITS[1])
    checked = subprocess.run(
        ["systemd-analyze", "verify", *paths], capture_output=True, text=True, check=False
    )
    complaints = [line for line in checked.stderr.splitlines() if "algotrade" in line]
    assert complaints == []


@pytest.mark.parametrize("name", UNITS)
def test_the_units_run_existing_commands(name: str) -> None:
    [command] = re.findall(r"^ExecStart=(.*)$", (FOLDER / name).read_text(), re.MULTILINE)
    words = shlex.split(command.replace("%i", "backtests").replace("$ROLES", ""))
    assert words[:2] == ["/opt/algotrade/.venv/bin/python", "manage.py"]
    assert_takes(words[2], words[3:])


def assert_takes(command: str, words: Sequence[str]) -> None:
    loaded = load_command_class(get_commands()[command], command)
    loaded.create_parser("manage.py", command).parse_args(words)


# Image.


def steps_of(containerfile: str) -> Iterator[tuple[str, str]]:
    for line in containerfile.splitlines():
        if line and not line.startswith("#"):
            instruction, _, words = line.partition(" ")
            yield instruction, words


def compose() -> dict[str, Any]:
    loaded = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    assert isinstance(loaded, dict)
    return loaded


def test_the_compose_file_sets_existing_settings() -> None:
    documented = (PROJECT / "config" / "README.md").read_text()
    services = compose()["services"]
    for name in ("service", "workers"):
        for setting in services[name]["environment"]:
            assert f"`{setting}`" in documented, setting
        assert services[name]["build"]["dockerfile"] == "config/deploy/Containerfile"
    for name in services["service"]["depends_on"]:
        assert name in services


@pytest.mark.parametrize("name", ["migrate", "service", "workers"])
def test_the_compose_file_runs_existing_commands(name: str) -> None:
    python, script, command, *words = compose()["services"][name]["command"]
    assert [python, script] == [".venv/bin/python", "manage.py"]
    assert_takes(command, words)


def test_the_compose_file_asks_for_health_by_commands() -> None:
    tests = [
        service["healthcheck"]["test"]
        for service in compose()["services"].values()
        if "healthcheck" in service
    ]
    assert len(tests) == 2
    assert {words[0] for words in tests} <= {"CMD", "CMD-SHELL"}


def test_the_compose_file_trusts_its_own_network_alone() -> None:
    [network] = compose()["networks"]["default"]["ipam"]["config"]
    for name in ("service", "workers"):
        environment = compose()["services"][name]["environment"]
        trusted = {environment["TRUSTED_PROXIES"], environment["METRICS_ALLOW"]}
        assert trusted == {network["subnet"]}


def test_every_container_is_confined() -> None:
    for name, container in compose()["services"].items():
        assert container["read_only"], name
        assert container["cap_drop"] == ["ALL"], name
        assert container["security_opt"] == ["no-new-privileges:true"], name
        assert container["mem_limit"], name
        assert "build" in container or re.search(r":\d+\.\d+[.\w-]*$", container["image"]), name


def test_the_service_and_its_migrations_have_roles_of_their_own() -> None:
    services = compose()["services"]
    users = {
        name: services[name]["environment"]["DATABASE_URL"].split(":")[1].removeprefix("//")
        for name in ("migrate", "service", "workers")
    }
    assert users == {
        "migrate": "algotrade",
        "service": "algotrade_service",
        "workers": "algotrade_service",
    }
    command = services["redis"]["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


def test_the_image_has_all_that_the_compose_file_runs() -> None:
    copied = {
        word
        for instruction, words in steps_of((FOLDER / "Containerfile").read_text())
        if instruction == "COPY"
        for word in words.split()[:-1]
    }
    assert copied == {"requirements.txt", "manage.py", "pyproject.toml", "apps", "config"}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_steps_of_the_image_give_a_service_that_runs() -> None:
    """The steps run in an empty folder in place of the image's root, with this Python."""
    image = fresh_folder()
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(image)}
    command: list[str] = []
    for instruction, words in steps_of((FOLDER / "Containerfile").read_text()):
        if instruction == "COPY":
            *sources, target = words.split()
            for source in sources:
                run_in(image, f"cp -R {PROJECT / source} {target}", environment)
        elif instruction == "RUN" and not words.startswith("useradd"):
            run_in(image, words.replace("python -m venv", f"{sys.executable} -m venv"), environment)
        elif instruction == "CMD":
            command = yaml.safe_load(words)
    port = free_port()
    running = Service(image / "data", port)
    running.directory.mkdir()
    started = {**environment, "DATA_DIR": str(running.directory), "PORT": str(port)}
    process = subprocess.Popen(
        [str(image / command[0]), *command[1:]], cwd=image, env=started, stdout=subprocess.DEVNULL
    )
    try:
        until(running.answers, seconds=600, every=0.5)
    finally:
        process.terminate()
        process.wait(60)
        shutil.rmtree(image)


def run_in(folder: Path, line: str, environment: Mapping[str, str]) -> None:
    subprocess.run(["sh", "-euc", line], cwd=folder, env=environment, check=True)


# Alerts.


def rules() -> list[dict[str, Any]]:
    loaded = yaml.safe_load((FOLDER / "alerts.yaml").read_text())
    return [rule for group in loaded["groups"] for rule in group["rules"]]


@needs("promtool")
def test_prometheus_takes_the_alerts() -> None:
    checked = subprocess.run(
        ["promtool", "check", "rules", FOLDER / "alerts.yaml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.django_db
def test_the_alerts_are_about_metrics_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    backlog = read_backlog()._replace(feed_age=1.0)
    monkeypatch.setattr(metrics, "read_backlog", lambda: backlog)
    presence.report("runner", now=timezone.now())
    samples()  # a request has to be counted first
    known = {name for name, _ in samples()}
    named = {name for rule in rules() for name in re.findall(r"algotrade_\w+", rule["expr"])}
    assert named - known == set()
    for rule in rules():
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"].endswith(".")


# Proxies.


@needs("caddy")
def test_the_proxy_of_the_compose_file_is_the_caddy_that_keeps_the_metrics_inside() -> None:
    proxy = compose()["services"]["proxy"]
    assert "./Caddyfile:/etc/caddy/Caddyfile:ro" in proxy["volumes"]
    assert "command" not in proxy  # the image's own reads that file
    adapted = subprocess.run(
        ["caddy", "adapt", "--config", FOLDER / "Caddyfile", "--adapter", "caddyfile"],
        env={"PATH": "/usr/bin:/bin", **proxy["environment"], "SITE": SITE},
        capture_output=True,
        text=True,
        check=True,
    )
    [server] = json.loads(adapted.stdout)["apps"]["http"]["servers"].values()
    [route] = server["routes"]
    assert route["match"] == [{"host": [SITE]}]
    assert server["read_header_timeout"] == 10_000_000_000
    text = json.dumps(route)
    assert '{"dial": "service:8000"}' in text
    assert '"match": [{"path": ["/metrics"]}]' in text


def ask(
    port: int, path: str, context: ssl.SSLContext, **headers: str
) -> tuple[int, Mapping[str, str]]:
    """Call the site; its name resolves to this machine."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=40) as plain,
        context.wrap_socket(plain, server_hostname=SITE) as encrypted,
    ):
        connection = http.client.HTTPSConnection(SITE, port)
        connection.sock = encrypted
        connection.request("GET", path, headers={"Host": SITE, **headers})
        response = connection.getresponse()
        response.read()
        return response.status, dict(response.headers)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "proxy", [pytest.param(nginx, marks=needs("nginx")), pytest.param(caddy, marks=needs("caddy"))]
)
def test_a_proxy_ends_tls_and_says_who_calls(proxy: Callable[..., Any], tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.context(SITE)
    certificate = tmp_path / "server.pem"
    context = ssl.create_default_context(cafile=authority.file)
    port = free_port()
    settings = {
        "ALLOWED_HOSTS": f"{SITE},127.0.0.1",
        "TRUSTED_PROXIES": "127.0.0.1",
        "BACKTEST_WORKERS": "1",
        "RATE_LIMIT_GENERAL": "5/m",
    }
    with service(directory=None, **settings) as behind, proxy(tmp_path, behind, port, certificate):
        status, headers = ask(port, "/readyz", context)
        assert status == 200
        assert headers["Strict-Transport-Security"] == "max-age=31536000"
        assert ask(port, "/metrics", context)[0] == 404
        path = "/api/trading/algorithms"
        # A client's own forwarding headers are ignored: all of these are one address.
        statuses = [
            ask(
                port,
                "/api/trading/algorithms",
                context,
                **{"X-Forwarded-For": f"203.0.113.{number}"},
            )[0]
            for number in range(7)
        ]
        assert statuses[-1] == 429, statuses
        # Another client, at the service itself, has its own counter.
        direct = Caller(behind.port, address="203.0.113.99")
        assert direct.call("GET", path).status == 401


SECRET: Final = "ah_" + "Ab-_9" * 8 + "xyz"


@needs("caddy")
def test_no_log_of_caddy_has_the_secret_of_an_address(tmp_path: Path) -> None:
    """Caddy logs the addresses of failed requests."""
    authority = Authority(tmp_path)
    authority.context(SITE)
    context = ssl.create_default_context(cafile=authority.file)
    port = free_port()
    paths = (f"/hooks/{SECRET}?a={SECRET}", f"/reports/{SECRET[3:]}", f"/api/hooks/{SECRET}")
    with caddy(tmp_path, Service(tmp_path, free_port()), port, tmp_path / "server.pem"):
        referrer = f"https://{SITE}/hooks/{SECRET}"
        statuses = [ask(port, path, context, Referer=referrer)[0] for path in paths]
    assert set(statuses) <= {502, 503}
    log = (tmp_path / "proxy.log").read_text()
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    addresses = [line["request"]["uri"] for line in lines if "request" in line]
    assert addresses == ["/hooks/...?a=ah_...", "/reports/...", "/api/hooks/ah_..."]
    assert SECRET[3:] not in log


@needs("nginx")
def test_no_log_of_nginx_has_the_secret_of_an_address(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.context(SITE)
    answering = ThreadingHTTPServer(("127.0.0.1", 0), AlertReceiver)
    port = free_port()
    behind = Service(tmp_path, answering.server_address[1])
    addresses = [
        f"/hooks/{SECRET}",
        f"//hooks/{SECRET}/",
        f"/%68ooks/{SECRET}?a={SECRET}",
        f"/hooks/x/../{SECRET}",
        f"/reports/{SECRET[3:]}",
        f"/account/reset/{SECRET[3:]}",
        f"/api/hooks/{SECRET}",
    ]
    with nginx(tmp_path, behind, port, tmp_path / "server.pem", tls=False):
        with answering:
            Thread(target=answering.serve_forever, daemon=True).start()
            statuses = [post(port, path) for path in addresses]
            answering.shutdown()
        assert statuses == [202] * len(addresses)
        assert [post(port, path) for path in addresses[:6]] == [502] * 6
        assert post(port, addresses[0], length=9 * 1024 * 1024) == 413
        [plain] = re.findall(r"listen 127.0.0.1:(\d+);\n    server_name", site_of(tmp_path))[:1]
        assert post(int(plain), addresses[0]) == 308
        assert post(port, "/docs", referrer="") == 502
    logs = {path.name: path.read_text() for path in tmp_path.glob("*.log")}
    assert "connect() failed" in logs["nginx.log"]  # it has lines of other addresses
    lines = logs["access.log"].splitlines()
    assert len(lines) == len(addresses) + 9
    assert sum('"POST /hooks/... HTTP/1.1" 202' in line for line in lines) == 4
    assert '"POST /api/hooks/ah_... HTTP/1.1" 202' in logs["access.log"]
    assert [name for name, text in logs.items() if SECRET[3:] in text] == []


class AlertReceiver(BaseHTTPRequestHandler):
    """Answers as the service answers an alert."""

    def do_POST(self) -> None:
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def site_of(folder: Path) -> str:
    return (folder / "site.conf").read_text()


def post(
    port: int, path: str, *, length: int = 0, referrer: str = f"https://{SITE}/hooks/{SECRET}"
) -> int:
    """Call the site without a body, by default from the page of another secret address."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=40)) as connection:
        connection.putrequest("POST", path, skip_host=True)
        for name, value in {"Host": SITE, "Referer": referrer, "Content-Length": length}.items():
            connection.putheader(name, str(value))
        connection.endheaders()
        return connection.getresponse().status


# README.


def explained_messages() -> list[str]:
    """Return the messages of the table; a row may have several."""
    page = (FOLDER / "README.md").read_text().split("## The log\n")[1]
    cells = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `")]
    return [message for cell in cells for message in re.findall("`(.*?)`", cell)]


def logged_messages() -> Iterator[str]:
    """Yield the messages of log lines above INFO."""
    levels = ("warning", "error", "exception")
    sources = (path.read_text() for path in (PROJECT / "apps").rglob("*.py"))
    for source in sources:
        if "log." not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="log"), attr=level),
                    args=[ast.Constant(value=str(message)), *_],
                ) if level in levels:
                    yield message


def test_every_line_above_info_is_explained() -> None:
    explained = explained_messages()
    messages = {message for message in logged_messages() if message != "%s"}
    assert len(messages) > 30
    assert {
        message for message in messages if not any(map(message.__contains__, explained))
    } == set()


def test_every_documented_log_line_is_written_by_the_service() -> None:
    messages = explained_messages()
    assert len(messages) > 10
    sources = "\n".join(path.read_text() for path in (PROJECT / "apps").rglob("*.py"))
    assert [message for message in messages if message not in sources] == []


def test_the_page_names_every_file_of_the_folder() -> None:
    page = (FOLDER / "README.md").read_text()
    files = {path.name for path in FOLDER.iterdir()} - {"README.md", "algotrade-worker@.service"}
    assert {name for name in files if f"({name})" not in page} == set()
    assert "algotrade-worker@backtests" in page
