"""The saved answers of brokers' history calls: Kite, Upstox, Fyers and Dhan (see documents).

They stamp a bar at its start and do not name the instrument, so the file's name does.
"""

from typing import Final

from apps.market.importers.file_format import FileFormat, StampSide
from apps.market.importers.formats.plain import by_column_or_name

PROFILE: Final = FileFormat(
    name="broker's JSON", instruments=by_column_or_name, stamps=StampSide.START
)
