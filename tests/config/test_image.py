"""The image is built and run by its Containerfile, in a Debian of its own."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from tests.faults.service import free_port, fresh_folder
from tests.processes import PROJECT, until

CONTAINERFILE: Final = PROJECT / "config" / "deploy" / "Containerfile"
NAME: Final = "localhost/algotrade-of-a-test"
# The sources of packages for this machine's pip, and their certificates.
OF_PIP: Final = ("/etc/pip.conf", "/etc/ssl/certs")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        os.geteuid() != 0 or not (shutil.which("buildah") and shutil.which("debootstrap")),
        reason="buildah and debootstrap, as root, build images here",
    ),
]


class Images:
    """Images of one test, without a daemon or a registry."""

    def __init__(self, folder: Path) -> None:
        self._options = [
            "--storage-driver=vfs",
            f"--root={folder / 'images'}",
            f"--runroot={folder / 'run'}",
        ]

    def command(self, *words: str) -> list[str]:
        return ["buildah", *self._options, *words]

    def do(self, *words: str) -> str:
        done = subprocess.run(
            self.command(*words), cwd=PROJECT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout.strip()


@pytest.fixture
def images() -> Iterator[Images]:
    """Yield images, with Debian and its Python in place of the Containerfile's base image."""
    folder = fresh_folder()
    try:
        debian = folder / "debian"
        packages = "--include=python3,python3-venv,ca-certificates"
        made = subprocess.run(
            ["debootstrap", "--variant=minbase", packages, "stable", debian],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            pytest.skip(f"Debian cannot be had here: {made.stdout[-200:]}")
        (debian / "usr" / "bin" / "python").symlink_to("python3")
        images = Images(folder)
        container = images.do("from", "scratch")
        images.do("copy", container, str(debian), "/")
        shutil.rmtree(debian)
        [base] = re.findall(r"^FROM (.*)$", CONTAINERFILE.read_text(), re.MULTILINE)
        images.do("commit", container, base)
        images.do("rm", container)
        yield images
    finally:
        until(lambda: is_removed(folder), seconds=60)


def test_the_image_is_built_and_serves_as_an_ordinary_user(images: Images) -> None:
    volumes = [f"--volume={path}:{path}:ro" for path in OF_PIP if Path(path).exists()]
    images.do(
        "build",
        "--isolation=chroot",
        "--network=host",
        "--pull-never",
        f"--file={CONTAINERFILE}",
        *volumes,
        f"--tag={NAME}",
        ".",
    )
    config = json.loads(images.do("inspect", "--type=image", NAME))["OCIv1"]["config"]
    assert config["User"] == "algotrade"
    container, port = images.do("from", "--pull-never", NAME), free_port()
    running = subprocess.Popen(
        images.command(
            "run",
            "--isolation=chroot",
            "--network=host",
            f"--env=PORT={port}",
            container,
            "--",
            *config["Cmd"],
        ),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    try:
        until(lambda: is_ready(port), seconds=600, every=0.5)
        user = images.do("run", "--isolation=chroot", container, "--", "id", "-un")
        status = images.do(
            "run", "--isolation=chroot", container, "--", ".venv/bin/python", "manage.py", "status"
        )
    finally:
        os.killpg(running.pid, signal.SIGTERM)
        running.wait(60)
    assert user == "algotrade"
    assert "nothing is wrong" in status


def is_removed(folder: Path) -> bool:
    """Remove the folder; return False while a container is still writing there."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def is_ready(port: int) -> bool:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
