"""Files that operators send: checked first, and stored when the same file comes again."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from apps.core.errors import Code, ServiceError

# Bytes of a file as it is sent, plain or packed: a year of minutes as CSV.
MOST_UPLOADED: Final = 5 * 1024 * 1024
_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_NAME: Final = 120


class OtherFile(ServiceError):
    """The uploaded file differs from the checked file."""

    code = Code.CONFLICT
    message = "{file} or its options have changed since the check. Check it again first."


@dataclass(frozen=True, slots=True)
class Upload:
    """A file with its `options`, a text.

    `checked` is the fingerprint that the check of both returned; it is empty for the check itself.
    """

    name: str
    content: bytes
    options: str = ""
    checked: str = ""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the file and its options."""
        return sha256(self.options.encode() + b"\0" + self.content).hexdigest()

    @property
    def is_check(self) -> bool:
        return not self.checked

    @contextmanager
    def saved(self) -> Iterator[Path]:
        """Yield the path of the file in a temporary folder.

        Its name keeps the packing, and often the symbol. Raises OtherFile.
        """
        if self.checked not in ("", self.fingerprint):
            raise OtherFile(file=self.name)
        name = _UNUSUAL.sub("_", Path(self.name).name)[-_LONGEST_NAME:].lstrip(".")
        with TemporaryDirectory(prefix="upload-") as folder:
            path = Path(folder) / (name or "file")
            path.write_bytes(self.content)
            yield path
