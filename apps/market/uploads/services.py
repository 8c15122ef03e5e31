"""The processing of files from operators."""

from dataclasses import dataclass
from datetime import date, datetime

from django.db import transaction

from apps.accounts.models import User
from apps.core import audit
from apps.core.audit import Action
from apps.core.errors import Fault, InvalidInput
from apps.core.files import Upload
from apps.core.times import INDIA
from apps.market.candles.price_kinds import PriceKind
from apps.market.candles.writing import WriteCounts
from apps.market.importers import ImportOptions, read_candle_files
from apps.market.importers.judging import judged
from apps.market.importers.loader import CandleLoader
from apps.market.importers.report import lines_of
from apps.symbols.importers import MasterImport, import_master, master_lines, read_master
from apps.symbols.models import Source


@dataclass(frozen=True, slots=True)
class CandleFileReport:
    """The report on one file, or on a file inside an archive."""

    file: str
    lines: list[str]


@dataclass(frozen=True, slots=True)
class CandleUpload:
    """The changes from storing the files; for a check, the changes they would make."""

    upload: Upload
    files: list[CandleFileReport]
    counts: WriteCounts

    @property
    def stored(self) -> bool:
        return not self.upload.is_check

    @property
    def fingerprint(self) -> str:
        return self.upload.fingerprint


@transaction.atomic
def upload_candles(
    *,
    operator: User,
    upload: Upload,
    options: ImportOptions,
    prices: PriceKind | None = None,
    replace: bool,
    replace_sample: bool = False,
    now: datetime,
) -> CandleUpload:
    """Check a candle file, or store a checked one, as `manage.py load_candles` does: all of it, or
    nothing.

    A check writes everything and rolls back, so that it finds every error of storing. Raises
    OtherFile, BadCandleFile, and the errors of `services.append_all`.
    """
    loader = CandleLoader(replace=replace, replace_sample=replace_sample, now=now)
    files = []
    with upload.saved() as path:
        for read in read_candle_files(path, options):
            loaded = judged(read, given=prices)
            files.append(CandleFileReport(loaded.file, lines_of(loaded)))
            loader.add(loaded)
    loader.finish()
    uploaded = CandleUpload(upload, files, loader.counts)
    if upload.is_check:
        transaction.set_rollback(True)
    else:
        audit.record(
            Action.CANDLE_FILE_LOADED,
            None,
            actor=audit.user(operator),
            now=now,
            file=upload.name,
            fingerprint=upload.fingerprint,
            added=loader.counts.added,
            replaced=loader.counts.replaced,
            dropped=loader.counts.dropped,
        )
    return uploaded


@dataclass(frozen=True, slots=True)
class MasterUpload:
    """The changes from importing the master; for a check, the changes it would make."""

    upload: Upload
    imported: MasterImport

    @property
    def stored(self) -> bool:
        return not self.upload.is_check

    @property
    def fingerprint(self) -> str:
        return self.upload.fingerprint

    @property
    def lines(self) -> list[str]:
        """The report to read."""
        return [line.strip() for line in master_lines(self.imported)]


@transaction.atomic
def upload_master(
    *,
    operator: User,
    upload: Upload,
    source: Source | None,
    as_of: date | None,
    force: bool,
    now: datetime,
) -> MasterUpload:
    """Check an instrument master, or import a checked one, as `manage.py seed_symbols` does: all of
    it, or nothing.

    A check writes everything and rolls back. Raises OtherFile, InvalidInput, InvalidMaster,
    SuspiciousMaster.
    """
    today = now.astimezone(INDIA).date()
    if as_of is not None and as_of > today:
        raise InvalidInput(Fault("asOf", "lies in the future"))
    with upload.saved() as path:
        master = read_master(path, today=today, source=source, as_of=as_of)
    imported = import_master(master=master, now=now, force=force)
    if upload.is_check:
        transaction.set_rollback(True)
    else:
        audit.record(
            Action.MASTER_LOADED,
            None,
            actor=audit.user(operator),
            now=now,
            file=upload.name,
            fingerprint=upload.fingerprint,
            source=str(master.source),
            added=imported.counts.added,
            changed=imported.counts.changed,
        )
    return MasterUpload(upload, imported)
