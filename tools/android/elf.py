"""Reads what a loader reads of a 64-bit little-endian ELF file: segments, needs, dynamic symbols.

What deliberately does not live here: sections, relocation and any judgement of what was read.
Layout: System V ABI, generic part; versions of symbols: Linux Standard Base, symbol versioning.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Segment:
    """One program header."""

    kind: int
    offset: int
    address: int
    file_bytes: int
    alignment: int


@dataclass(frozen=True)
class Symbol:
    """One dynamic symbol; `version` is None where the library has none."""

    name: str
    is_function: bool
    is_defined: bool
    is_local: bool
    size_bytes: int
    version: str | None


class Elf:
    """An ELF file in memory."""

    def __init__(self, data: bytes) -> None:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        self.data = data

    @classmethod
    def read(cls, path: Path) -> Elf:
        """Read a file."""
        return cls(path.read_bytes())

    @property
    def machine(self) -> int:
        """What processor it is for."""
        return int(self._unpack("<H", 18)[0])

    @cached_property
    def segments(self) -> list[Segment]:
        """The program headers, in order."""
        (start,) = self._unpack("<Q", 32)
        size, count = self._unpack("<HH", 54)
        rows = (self._unpack("<IIQQQQQQ", start + size * i) for i in range(count))
        return [Segment(row[0], row[2], row[3], row[5], row[7]) for row in rows]

    @property
    def load_alignments(self) -> list[int]:
        """Alignment in bytes of every segment that is mapped."""
        return [segment.alignment for segment in self.segments if segment.kind == PT_LOAD]

    @property
    def needed(self) -> list[str]:
        """Names of the libraries that must be loaded first."""
        return [self._text(value) for tag, value in self.dynamic if tag == DT_NEEDED]

    @property
    def soname(self) -> str | None:
        """Its own name, if it says one."""
        return next((self._text(value) for tag, value in self.dynamic if tag == DT_SONAME), None)

    @property
    def interpreter(self) -> str | None:
        """The loader that it asks for; None for a library and a static executable."""
        for segment in self.segments:
            if segment.kind == PT_INTERP:
                return self._string(segment.offset)
        return None

    @property
    def has_text_relocations(self) -> bool:
        """Whether code must be written to at load time, which Android refuses."""
        flags = next((value for tag, value in self.dynamic if tag == DT_FLAGS), 0)
        return any(tag == DT_TEXTREL for tag, _ in self.dynamic) or bool(flags & DF_TEXTREL)

    @cached_property
    def dynamic(self) -> list[tuple[int, int]]:
        """Tags and values of the dynamic segment, up to its end mark."""
        rows = []
        for segment in self.segments:
            if segment.kind == PT_DYNAMIC:
                for at in range(segment.offset, segment.offset + segment.file_bytes, 16):
                    tag, value = self._unpack("<QQ", at)
                    if tag == 0:
                        break
                    rows.append((tag, value))
        return rows

    @cached_property
    def symbols(self) -> list[Symbol]:
        """Dynamic symbols, without the empty first one."""
        table, versions = self._address(DT_SYMTAB), self._tag(DT_VERSYM)
        names = self._version_names()
        found = []
        for number in range(1, self._symbol_count()):
            name, info, _, section, _, size = self._unpack("<IBBHQQ", table + 24 * number)
            version = None
            if versions is not None:
                (index,) = self._unpack("<H", self._offset(versions) + 2 * number)
                version = names.get(index & 0x7FFF)
            is_function = info & 15 in {STT_FUNC, STT_GNU_IFUNC}
            found.append(
                Symbol(self._text(name), is_function, section != 0, info >> 4 == 0, size, version)
            )
        return found

    @property
    def exported(self) -> list[Symbol]:
        """Symbols that other libraries may use."""
        return [symbol for symbol in self.symbols if symbol.is_defined and not symbol.is_local]

    def _symbol_count(self) -> int:
        """Count by the hash table, as the dynamic segment has no other number."""
        if (table := self._tag(DT_HASH)) is not None:
            return int(self._unpack("<II", self._offset(table))[1])
        start = self._address(DT_GNU_HASH)
        buckets, first, words, _ = self._unpack("<IIII", start)
        bucket_at = start + 16 + 8 * words
        last = max(self._unpack(f"<{buckets}I", bucket_at))
        if last < first:
            return int(first)
        chain_at = bucket_at + 4 * buckets
        while not self._unpack("<I", chain_at + 4 * (last - first))[0] & 1:
            last += 1
        return int(last) + 1

    def _version_names(self) -> dict[int, str]:
        """Names of the versions that the library defines, by number."""
        start, names = self._tag(DT_VERDEF), {}
        at = None if start is None else self._offset(start)
        while at is not None:
            _, _, number, _, _, auxiliary, following = self._unpack("<HHHHIII", at)
            names[number] = self._text(self._unpack("<I", at + auxiliary)[0])
            at = at + following if following else None
        return names

    def _tag(self, tag: int) -> int | None:
        return next((value for other, value in self.dynamic if other == tag), None)

    def _address(self, tag: int) -> int:
        value = self._tag(tag)
        if value is None:
            raise ValueError(f"the dynamic segment lacks tag {tag:#x}")
        return self._offset(value)

    def _offset(self, address: int) -> int:
        """Return where an address lies in the file."""
        for segment in self.segments:
            if (
                segment.kind == PT_LOAD
                and segment.address <= address < segment.address + segment.file_bytes
            ):
                return address - segment.address + segment.offset
        raise ValueError(f"no segment holds address {address:#x}")

    def _text(self, index: int) -> str:
        return self._string(self._address(DT_STRTAB) + index)

    def _string(self, at: int) -> str:
        return self.data[at : self.data.index(b"\0", at)].decode()

    def _unpack(self, layout: str, at: int) -> tuple[int, ...]:
        return struct.unpack_from(layout, self.data, at)


# Numbers of the System V ABI and its GNU extensions.
EM_X86_64, EM_AARCH64 = 62, 183
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
STT_FUNC, STT_GNU_IFUNC = 2, 10
DT_NEEDED, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_SONAME, DT_TEXTREL, DT_FLAGS = 1, 4, 5, 6, 14, 22, 30
DT_GNU_HASH, DT_VERSYM, DT_VERDEF = 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFC
DF_TEXTREL = 4
