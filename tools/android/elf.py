"""What a 64-bit little-endian ELF file asks of a loader and offers to others, read by pyelftools.

Needs and alignments are those of segments, symbols and their versions those of sections, which a
stripped library has, too. What deliberately does not live here: any judgement of what was read.
"""

from __future__ import annotations

import io
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.enums import ENUM_DT_FLAGS
from elftools.elf.gnuversions import GNUVerDefSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection
from elftools.elf.segments import InterpSegment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Symbol:
    """One exported symbol; `version` is None where the library has none."""

    name: str
    is_function: bool
    size_bytes: int
    version: str | None


class Elf:
    """An ELF file in memory; what is damaged raises ValueError when it is asked for."""

    def __init__(self, data: bytes) -> None:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        with _damage():
            self._file = ELFFile(io.BytesIO(data))

    @classmethod
    def read(cls, path: Path) -> Elf:
        """Read a file."""
        return cls(path.read_bytes())

    @property
    def machine(self) -> str:
        """What processor it is for, such as EM_AARCH64."""
        return str(self._file["e_machine"])

    @property
    def load_alignments(self) -> list[int]:
        """Alignment in bytes of every segment that is mapped."""
        with _damage():
            return [segment["p_align"] for segment in self._file.iter_segments("PT_LOAD")]

    @property
    def needed(self) -> list[str]:
        """Names of the libraries that must be loaded first."""
        return [tag.needed for tag in self._tags if tag["d_tag"] == "DT_NEEDED"]

    @property
    def soname(self) -> str | None:
        """Its own name, if it says one."""
        return next((tag.soname for tag in self._tags if tag["d_tag"] == "DT_SONAME"), None)

    @property
    def interpreter(self) -> str | None:
        """The loader that it asks for; None for a library and a static executable."""
        with _damage():
            for segment in self._file.iter_segments("PT_INTERP"):
                assert isinstance(segment, InterpSegment)
                return segment.get_interp_name()
        return None

    @property
    def has_text_relocations(self) -> bool:
        """Whether code must be written to at load time, which Android refuses."""
        flags = next((tag["d_val"] for tag in self._tags if tag["d_tag"] == "DT_FLAGS"), 0)
        is_tagged = any(tag["d_tag"] == "DT_TEXTREL" for tag in self._tags)
        return is_tagged or bool(flags & ENUM_DT_FLAGS["DF_TEXTREL"])

    @cached_property
    def exported(self) -> list[Symbol]:
        """Symbols that other libraries may use."""
        with _damage():
            return list(self._exported())

    @cached_property
    def _tags(self) -> list[Any]:
        # Of Any, because a tag has `needed` or `soname` only where it is of that kind.
        with _damage():
            found: list[Any] = []
            for segment in self._file.iter_segments("PT_DYNAMIC"):
                assert isinstance(segment, DynamicSegment)
                found += segment.iter_tags()
            return found

    def _exported(self) -> Iterator[Symbol]:
        symbols = next(self._file.iter_sections("SHT_DYNSYM"), None)
        if symbols is None:
            raise ValueError("no section has dynamic symbols")
        assert isinstance(symbols, SymbolTableSection)
        versions = next(self._file.iter_sections("SHT_GNU_versym"), None)
        names = self._version_names()
        for number, symbol in enumerate(symbols.iter_symbols()):
            is_local = symbol["st_info"]["bind"] == "STB_LOCAL"
            if is_local or symbol["st_shndx"] == "SHN_UNDEF":
                continue
            version = None
            if isinstance(versions, GNUVerSymSection):
                index = versions.get_symbol(number)["ndx"]
                # A word for what has no version of its own, else a number.
                version = None if isinstance(index, str) else names.get(index & ~_HIDDEN)
            is_function = symbol["st_info"]["type"] in _FUNCTIONS
            yield Symbol(symbol.name, is_function, symbol["st_size"], version)

    def _version_names(self) -> dict[int, str]:
        """Names of the versions that the library defines, by number."""
        defined = next(self._file.iter_sections("SHT_GNU_verdef"), None)
        if not isinstance(defined, GNUVerDefSection):
            return {}
        return {version["vd_ndx"]: next(names).name for version, names in defined.iter_versions()}


@contextmanager
def _damage() -> Iterator[None]:
    """Say of what cannot be read that the file is damaged."""
    try:
        yield
    except ELFError as error:
        raise ValueError(f"damaged ELF file: {error}") from None


_HIDDEN = 0x8000  # in the number of a version that is not its symbol's default
_FUNCTIONS = ("STT_FUNC", "STT_LOOS")  # the latter is what Linux calls STT_GNU_IFUNC
