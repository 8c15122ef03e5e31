"""Half an hour of everyday use: nobody gets a 500, and memory stays constant.

    python -m tests.faults.soak --minutes 30 --rate 20

Starts a new service with the sample's candles, and sends ordinary calls at times that do not depend
on earlier answers. Ends with exit code 1 if an operation gave an unexpected answer, or if the
service's own processes grew by 5 % or more after the first five minutes. Needs Linux.
"""

import argparse
import itertools
import random
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from tests.faults.everyday_calls import OPERATIONS, Client, Operation
from tests.faults.service import WORKERS, Answer, Caller, Service, service

SEED: Final = 20261121
THREADS: Final = 16
CLIENTS: Final = 32  # more than threads: one of them is always free, and sends one call at a time
SECONDS_TO_SETTLE: Final = 300.0
SECONDS_A_SAMPLE: Final = 10.0
MOST_GROWTH: Final = 5.0  # percent
SERVICE_ROLES: Final = ("up", "web", *WORKERS)
DATABASE: Final = ("postmaster", "backend")
# Megabytes by role.
Memory = Mapping[str, float]


@dataclass(slots=True)
class Record:
    """The results of the calls, and the resources of the service meanwhile."""

    # By operation, from the moment a call was due.
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    unexpected: list[str] = field(default_factory=list)
    # By the second since the start.
    memory: list[tuple[float, Memory]] = field(default_factory=list)
    processes: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def note(self, operation: Operation, answer: Answer, seconds: float) -> None:
        self.seconds[operation.name].append(seconds)
        self.statuses[operation.name][answer.status] += 1
        if answer.status not in operation.expected:
            self.unexpected.append(f"{operation.name}: {answer.status} {answer.body}")


class Schedule:
    """The time of each call, independent of earlier answers."""

    def __init__(self, *, rate: float, seconds: float, rng: random.Random) -> None:
        gaps = itertools.accumulate(rng.expovariate(rate) for _ in itertools.count())
        self._due = itertools.takewhile(lambda due: due < seconds, gaps)
        self._lock = threading.Lock()
        self._begun = time.monotonic()

    def __iter__(self) -> Iterator[float]:
        """Yield times by time.monotonic; several threads may iterate."""
        while True:
            with self._lock:
                due = next(self._due, None)
            if due is None:
                return
            yield self._begun + due


def call_when_due(schedule: Schedule, clients: Sequence[Client], record: Record, seed: str) -> None:
    rng = random.Random(seed)
    weights = [operation.weight for operation in OPERATIONS]
    for due in schedule:
        time.sleep(max(0.0, due - time.monotonic()))
        with _free(clients, rng) as client:
            (operation,) = rng.choices(OPERATIONS, weights)
            answer = operation.call(client, rng)
        record.note(operation, answer, time.monotonic() - due)


@contextmanager
def _free(clients: Sequence[Client], rng: random.Random) -> Iterator[Client]:
    shuffled = rng.sample(clients, len(clients))
    client = next(
        client for client in itertools.cycle(shuffled) if client.busy.acquire(blocking=False)
    )
    try:
        yield client
    finally:
        client.busy.release()


def watch(up: Service, record: Record, stop: threading.Event) -> None:
    begun = time.monotonic()
    while not stop.wait(SECONDS_A_SAMPLE):
        running = up.running()
        for role, pids in running.items():
            record.processes[role].update(pids)
        taken = {role: sum(map(megabytes, pids)) for role, pids in running.items()}
        record.memory.append((time.monotonic() - begun, taken))


def megabytes(pid: int) -> float:
    """Return the memory of a process: its own pages and its share of shared ones, without mapped
    files, which other programs share too.
    """
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # it has ended
        return 0.0
    sizes = {words[0]: int(words[1]) for line in text.splitlines()[1:] if (words := line.split())}
    return (sizes["Pss:"] - sizes.get("Pss_File:", 0)) / 1024


def run(up: Service, *, minutes: float, rate: float) -> Record:
    record, stop = Record(), threading.Event()
    clients = [Client(Caller(up.port), f"client{number}") for number in range(CLIENTS)]
    for client in clients:
        client.sign_up()
    schedule = Schedule(rate=rate, seconds=60 * minutes, rng=random.Random(SEED))
    watcher = threading.Thread(target=watch, args=(up, record, stop))
    callers = [
        threading.Thread(target=call_when_due, args=(schedule, clients, record, f"{SEED}.{number}"))
        for number in range(THREADS)
    ]
    watcher.start()
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    stop.set()
    watcher.join()
    return record


def report(record: Record, *, minutes: float) -> float:
    """Print everything; return the growth of the service's own processes in percent."""
    for line in [*_calls(record), "", *_unexpected(record)]:
        print(line)
    settled = min(SECONDS_TO_SETTLE, 30 * minutes)
    before = _around(record, settled, settled + 60)
    after = _around(record, 60 * minutes - 60, 60 * minutes + 60)
    print(
        f"{'memory, MB':12}{f'{settled / 60:.0f} min':>10}{'the end':>10}{'growth':>9}  processes"
    )
    for role in (*SERVICE_ROLES, *DATABASE):
        seen = len(record.processes[role])
        print(_row(role, before[role], after[role]), f"{seen:10}")
    totals = [sum(memory[role] for role in SERVICE_ROLES) for memory in (before, after)]
    print(_row("total, ours", *totals))
    print(_row("database", *(sum(memory[role] for role in DATABASE) for memory in (before, after))))
    return _growth(*totals)


def _calls(record: Record) -> Iterator[str]:
    total = sum(sum(counts.values()) for counts in record.statuses.values())
    yield f"{'operation, ms':22}{'calls':>7}{'p50':>8}{'p95':>8}{'p99':>8}  answers; {total} in all"
    for name in sorted(record.seconds):
        p50, p95, p99 = _percentiles(record.seconds[name])
        counts = ", ".join(f"{n} x {status}" for status, n in record.statuses[name].most_common())
        calls = len(record.seconds[name])
        yield f"{name:22}{calls:7}{1e3 * p50:8.1f}{1e3 * p95:8.1f}{1e3 * p99:8.1f}  {counts}"


def _percentiles(seconds: Sequence[float]) -> tuple[float, float, float]:
    if len(seconds) < 2:
        return (seconds[0],) * 3
    cuts = quantiles(seconds, n=100, method="inclusive")
    return cuts[49], cuts[94], cuts[98]


def _unexpected(record: Record) -> Iterator[str]:
    if record.unexpected:
        yield f"{len(record.unexpected)} answers that their operations do not have, such as"
        yield from record.unexpected[:10]
        yield ""


def _around(record: Record, start: float, end: float) -> Memory:
    """Return the median of a minute's samples."""
    samples = [memory for moment, memory in record.memory if start <= moment <= end]
    return {
        role: median(memory[role] for memory in samples) for role in (*SERVICE_ROLES, *DATABASE)
    }


def _row(name: str, before: float, after: float) -> str:
    return f"{name:12}{before:10.1f}{after:10.1f}{_growth(before, after):+8.1f}%"


def _growth(before: float, after: float) -> float:
    return 100 * (after / before - 1) if before else 0.0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=20.0, help="calls per second")
    given = parser.parse_args(arguments)
    if given.minutes < 2:
        parser.error("--minutes: at least 2, as memory is compared over minutes")
    with service() as up:
        up.manage("load_candles", "--sample")
        print(f"{given.rate:g} calls per second for {given.minutes:g} minutes", flush=True)
        record = run(up, minutes=given.minutes, rate=given.rate)
        growth = report(record, minutes=given.minutes)
    return 1 if record.unexpected or growth >= MOST_GROWTH else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
