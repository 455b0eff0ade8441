"""Writes a ZIP archive whose stored entries begin at multiples of a page.

Android maps native libraries straight from the APK, so their bytes must be aligned. The gap is an
extra field of kind 0xd935, which tells apksigner to keep the alignment; Debian's zipalign knows
pages of 4 KiB only. Layout: PKWARE's APPNOTE, 4.3.7 (local header) and 4.5 (extra field).
"""

from __future__ import annotations

import struct
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """One file of an archive. It is compressed unless it has an alignment."""

    name: str
    data: bytes
    alignment: int = 0


def write(path: Path, entries: list[Entry]) -> None:
    """Write the archive; the same entries give the same bytes."""
    with zipfile.ZipFile(path, "w") as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, EPOCH)
            info.compress_type = zipfile.ZIP_STORED if entry.alignment else zipfile.ZIP_DEFLATED
            if entry.alignment:
                assert archive.fp is not None, "the archive is open"
                info.extra = padding(archive.fp.tell(), entry)
            archive.writestr(info, entry.data)


def padding(start: int, entry: Entry) -> bytes:
    """Return the extra field after which the data of an entry at `start` is aligned."""
    end = start + LOCAL_HEADER_BYTES + len(entry.name.encode()) + FIELD_BYTES
    gap = -end % entry.alignment
    return struct.pack("<HHH", ALIGNMENT_FIELD, 2 + gap, entry.alignment) + bytes(gap)


def data_offset(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """Return where the data of an entry begins in the file."""
    assert archive.fp is not None, "the archive is open"
    archive.fp.seek(info.header_offset + NAME_LENGTH_AT)
    name_bytes, extra_bytes = struct.unpack("<HH", archive.fp.read(4))
    return int(info.header_offset + LOCAL_HEADER_BYTES + name_bytes + extra_bytes)


# The earliest date that the format can say; the real one would make every archive another.
EPOCH = (1980, 1, 1, 0, 0, 0)
LOCAL_HEADER_BYTES = 30
# Where the local header says the lengths of the name and of the extra field.
NAME_LENGTH_AT = 26
# Kind, length and alignment, two bytes each.
FIELD_BYTES = 6
ALIGNMENT_FIELD = 0xD935
