"""Data frames from Arrow, by packages of the extra `frames`."""

from typing import Any, Final, TypeAlias

from .errors import ExtraMissing

ARROW: Final = "application/vnd.apache.arrow.stream"

# pandas.DataFrame; the package has no types of its own, and is an extra.
DataFrame: TypeAlias = Any


def to_frame(table: bytes) -> DataFrame:
    """Return the data frame of an Arrow stream. Raises ExtraMissing."""
    try:
        import pandas  # noqa: F401  # Arrow makes its frames
        from pyarrow import ipc
    except ImportError as error:
        message = "Data frames need two packages: pip install 'algotrade-client[frames]'"
        raise ExtraMissing(message) from error
    return ipc.open_stream(table).read_pandas()
