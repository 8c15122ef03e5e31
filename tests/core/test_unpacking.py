"""Files and their packed contents, up to a limit."""

import gzip
import zipfile
from pathlib import Path

import pytest

from apps.core.files import unpacking
from apps.core.files.unpacking import Unreadable, unpack


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_BYTES", 1000)


def zipped(path: Path, *sizes: int) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, size in enumerate(sizes):
            archive.writestr(f"{number}.csv", b"x" * size)
    return path


def test_a_file_as_long_as_the_limit_is_read_whole(tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(b"x" * 1000)
    packed.write_bytes(gzip.compress(b"x" * 1000))
    for path in (plain, packed, zipped(tmp_path / "zip", 400, 600)):
        assert sum(len(content.data) for content in unpack(path)) == 1000


def test_one_byte_over_the_limit_is_refused_with_the_limit_and_advice(tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(b"x" * 1001)
    packed.write_bytes(gzip.compress(b"x" * 1001))
    for path in (plain, packed, zipped(tmp_path / "zip", 400, 601)):
        with pytest.raises(Unreadable, match=r"more than 256 MB .* split long files"):
            list(unpack(path))


def test_a_zip_with_an_understated_size_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "zip", 5000)
    path.write_bytes(path.read_bytes().replace((5000).to_bytes(4, "little"), bytes([9, 0, 0, 0])))
    with pytest.raises(Unreadable, match="damaged or locked zip"):
        list(unpack(path))


def test_an_archive_in_an_archive_stays_packed(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner", 5000)
    with zipfile.ZipFile(tmp_path / "outer", "w") as archive:
        archive.write(inner, "inner.zip")
    [content] = unpack(tmp_path / "outer")
    assert content.data == inner.read_bytes()


def test_more_files_than_are_wanted_are_refused_before_any_is_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "zip", 1, 1)
    with pytest.raises(Unreadable, match="packs 2 files: give one"):
        next(unpack(path, most_files=1))
