"""Files in and out: uploads, archives to unpack, the archive of a user's data."""

from apps.core.files.personal_data import DataRow, unpacked, write_archive
from apps.core.files.unpacking import MOST_BYTES, MOST_FILES, TOO_LONG, Content, Unreadable, unpack
from apps.core.files.uploads import MOST_UPLOADED, OtherFile, Upload

__all__ = [
    "MOST_BYTES",
    "MOST_FILES",
    "MOST_UPLOADED",
    "TOO_LONG",
    "Content",
    "DataRow",
    "OtherFile",
    "Unreadable",
    "Upload",
    "unpack",
    "unpacked",
    "write_archive",
]
