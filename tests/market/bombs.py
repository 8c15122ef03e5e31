"""Small files that unpack to gigabytes.

    python -m tests.market.bombs FOLDER [NAME...]

Writes each file, reads it as every importer would, and prints the refusal and the peak memory of
this process so far, in MB.
"""

import gzip
import io
import os
import resource
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import django
import pyarrow as pa
import pyarrow.parquet as pq

GIGABYTE = 1 << 30
CHUNK = 1 << 20
HEADER = b"date,open,high,low,close\n"


def pieces(repeated: bytes, size: int) -> Iterator[bytes]:
    piece = repeated * (CHUNK // len(repeated))
    for _ in range(size // len(piece)):
        yield piece


def gzipped(path: Path, repeated: bytes, size: int, head: bytes = b"") -> None:
    """Pack a gigabyte: a file may contain several gzip members."""
    part = io.BytesIO()
    with gzip.GzipFile(fileobj=part, mode="wb", compresslevel=1) as packing:
        for piece in pieces(repeated, 64 * CHUNK):
            packing.write(piece)
    path.write_bytes(gzip.compress(head) + part.getvalue() * (size // (64 * CHUNK)))


def zipped(path: Path, *, size: int, method: int = zipfile.ZIP_DEFLATED) -> None:
    with (
        zipfile.ZipFile(path, "w", method, compresslevel=1) as archive,
        archive.open("SBIN_1m.csv", "w") as member,
    ):
        member.write(HEADER)
        for piece in pieces(b"2024-01-01 09:15,1,1,1,1\n", size):
            member.write(piece)


def nested(path: Path) -> None:
    inner = path.with_suffix(".inner")
    zipped(inner, size=64 * CHUNK)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(inner, "SBIN_1m.csv")


def listed(path: Path) -> None:
    """Write a hundred thousand empty files."""
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(100_000):
            archive.writestr(f"{number}.csv", b"")


def table(path: Path, rows: int, **columns: Any) -> None:
    """Write the same rows ten times, so that writing takes little memory."""
    part = pa.table({name: pa.repeat(value, rows // 10) for name, value in columns.items()})
    with pq.ParquetWriter(path, part.schema, compression="zstd") as writer:
        for _ in range(10):
            writer.write_table(part)


PRICES = dict.fromkeys(("open", "high", "low", "close"), 1.0)
CANDLES: dict[str, Callable[[Path], None]] = {
    "zeros.csv.gz": lambda path: gzipped(path, b"\0", GIGABYTE),
    "empty_values.csv.gz": lambda path: gzipped(path, b",", 192 * CHUNK, HEADER),
    "empty_rows.csv.gz": lambda path: gzipped(path, b",,,,\n", 192 * CHUNK, HEADER),
    "names.csv.gz": lambda path: gzipped(path, b"open,", 192 * CHUNK),
    "lists.json.gz": lambda path: gzipped(path, b"[],", 192 * CHUNK, b'{"data":{"candles":['),
    "whole.zip": lambda path: zipped(path, size=320 * CHUNK),
    "bzip2.zip": lambda path: zipped(path, size=64 * CHUNK, method=zipfile.ZIP_BZIP2),
    "nested.zip": nested,
    "listed.zip": listed,
    "rows.parquet": lambda path: table(path, 20_000_000, date=1, **PRICES),
    "texts.parquet": lambda path: table(path, 100_000, date="2024-01-01" * 2000, **PRICES),
}
MASTERS: dict[str, Callable[[Path], None]] = {
    "zeros.gz": lambda path: gzipped(path, b"\0", GIGABYTE),
    "one_line.csv.gz": lambda path: gzipped(path, b",", 192 * CHUNK),
    "records.json.gz": lambda path: gzipped(path, b"{},", 192 * CHUNK, b"["),
    "master.zip": lambda path: zipped(path, size=320 * CHUNK),
}


def most_memory() -> int:
    """Return MB. Linux includes the memory from before exec in its rusage figure."""
    with suppress(FileNotFoundError):
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // CHUNK  # macOS: bytes


def main(folder: Path, *names: str) -> None:
    from apps.market.importers import BadCandleFile, read_candle_files
    from apps.market.importers.action_files import read_actions
    from apps.symbols.importers import InvalidMaster, read_master
    from tests import make

    def candles(path: Path) -> None:
        for _ in read_candle_files(path):
            pass

    readers: dict[Callable[[Path], object], dict[str, Callable[[Path], None]]] = {
        candles: CANDLES,
        read_actions: {"actions.zip": CANDLES["whole.zip"]},
        lambda path: read_master(path, today=make.NOW.date()): MASTERS,
    }
    for read, bombs in readers.items():
        for name, build in bombs.items():
            if names and name not in names:
                continue
            path = folder / name
            if os.fork() == 0:  # the memory for writing one is not counted
                build(path)
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
            try:
                read(path)
            except (BadCandleFile, InvalidMaster) as error:
                print(f"{most_memory()} {str(error)[:300]}", flush=True)
            else:
                print(f"0 {name}: was read", flush=True)


if __name__ == "__main__":
    django.setup()
    main(Path(sys.argv[1]), *sys.argv[2:])
