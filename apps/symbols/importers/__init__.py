"""Instrument masters: reading, naming and storing them.

Other apps import only these names.
"""

from apps.symbols.importers.bundled_sample import (
    sample_instruments,
)
from apps.symbols.importers.master import (
    read_master,
)
from apps.symbols.importers.master_file import (
    InvalidMaster,
)
from apps.symbols.importers.master_import import (
    MasterImport,
    SuspiciousMaster,
    import_master,
)
from apps.symbols.importers.naming import (
    INDICES,
    LATEST_MONTHLY,
    letters,
)
from apps.symbols.importers.report import (
    master_lines,
)
from apps.symbols.importers.rows import (
    RejectedRow,
)
from apps.symbols.importers.shares import (
    rank_of,
)

__all__ = [
    "INDICES",
    "LATEST_MONTHLY",
    "InvalidMaster",
    "MasterImport",
    "RejectedRow",
    "SuspiciousMaster",
    "import_master",
    "letters",
    "master_lines",
    "rank_of",
    "read_master",
    "sample_instruments",
]
