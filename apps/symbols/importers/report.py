"""The report of an imported master, in lines to read."""

from collections.abc import Iterator

from apps.symbols.importers.master_import import MasterImport
from apps.symbols.importers.rows import RejectReason

# Rows left out by rule are counted; rows that may be a fault of the file are shown with their line.
_SHOWN = (
    RejectReason.DECIMAL_STRIKE,
    RejectReason.COLLISION,
    RejectReason.NO_SYMBOL,
    RejectReason.UNREADABLE,
)


def master_lines(imported: MasterImport) -> Iterator[str]:
    """Yield the counts of the file's rows, each row counted once, then the other changes."""
    master, counts = imported.master, imported.counts
    rejections = master.rejections
    label = master.source.label
    yield f"{master.file}: {label}, as of {master.as_of} ({master.as_of_source})"
    yield _count("rows read", master.read)
    yield _count("added", counts.added)
    yield _count("changed", counts.changed)
    yield _count("unchanged", imported.unchanged)
    for reason in [reason for reason in RejectReason if rejections.counts[reason]]:
        yield _count(reason.value, rejections.counts[reason])
        if reason in _SHOWN:
            yield from (
                f"      line {line}: {message}" for line, message in rejections.shown[reason]
            )
    yield f"  new dated terms: {counts.new_terms:,}"
    for (exchange, segment), count in sorted(counts.vanished.items()):
        yield f"  {exchange} {segment}: {count:,} not listed by {label} any more"
    if counts.delisted:
        yield f"  delisted, as nobody lists them: {counts.delisted:,}"


def _count(label: str, count: int) -> str:
    return f"  {count:>9,}  {label}"
