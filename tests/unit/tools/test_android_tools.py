"""What of the Android app needs neither a compiler nor a phone: ELF, ZIP, and its words."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.android import toolchain
from tools.android.alignedzip import Entry, data_offset, write
from tools.android.elf import Elf, Symbol
from tools.android.environment import EXIT_ENVIRONMENT, Missing, exit_with, need_command


@pytest.fixture(scope="module")
def libc_file() -> Path:
    """The C library that this process runs on."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = {line.split()[-1] for line in lines if "/libc.so" in line or "/libc-" in line}
    if not paths:
        pytest.skip("no C library is mapped under its usual name")
    return Path(paths.pop())


@pytest.fixture(scope="module")
def libc(libc_file: Path) -> Elf:
    return Elf.read(libc_file)


def test_a_library_says_its_name_and_what_it_offers(libc: Elf) -> None:
    assert libc.machine in {"EM_X86_64", "EM_AARCH64"}
    assert (libc.soname or "").startswith("libc")
    exported = {symbol.name: symbol for symbol in libc.exported}
    assert exported["memcpy"].is_function
    assert not exported["environ"].is_function
    assert exported["environ"].size_bytes == 8
    assert "no_such_function" not in exported
    assert "" not in exported, "the empty first one is local"
    assert "__tls_get_addr" not in exported, "it is the loader's"


def test_a_library_is_mapped_in_pages(libc: Elf) -> None:
    assert libc.load_alignments
    assert all(alignment >= 4_096 for alignment in libc.load_alignments)
    assert not libc.has_text_relocations


def test_symbols_have_versions(libc: Elf) -> None:
    if not any(symbol.version for symbol in libc.exported):
        pytest.skip("this C library has no versions of symbols")
    versions = {symbol.version for symbol in libc.exported if symbol.name == "write"}
    assert versions <= {"GLIBC_2.2.5", "GLIBC_2.17"}


def test_an_executable_asks_for_a_loader() -> None:
    python = Elf.read(Path(sys.executable).resolve())
    assert python.interpreter is None or Path(python.interpreter).name.startswith("ld-")
    if python.interpreter:
        assert any(name.startswith("libc") for name in python.needed)


@pytest.mark.parametrize("data", [b"", b"PK\3\4", b"\x7fELF\x01\x01" + bytes(60)])
def test_file_that_is_no_elf_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a 64-bit"):
        Elf(data)


@pytest.mark.parametrize("kept_bytes", [6, 63, 64, 4096, -1])
def test_truncated_elf_is_damaged(libc_file: Path, kept_bytes: int) -> None:
    cut = libc_file.read_bytes()[:kept_bytes]
    with pytest.raises(ValueError, match="damaged ELF file: "):
        assert Elf(cut).exported
    with pytest.raises(ValueError, match="damaged ELF file: "):
        assert Elf(cut).needed


def test_a_static_executable_asks_for_nothing() -> None:
    # A header without segments and sections: its type, processor, version and sizes alone.
    numbers = (2, 183, 1, 0, 0, 0, 0, 64, 56, 0, 64, 0, 0)
    static = Elf(struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", *numbers))
    assert static.machine == "EM_AARCH64"
    assert (static.interpreter, static.soname, static.needed) == (None, None, [])
    assert not static.has_text_relocations
    with pytest.raises(ValueError, match="no section has dynamic symbols"):
        assert static.exported


@pytest.mark.parametrize(
    ("tag", "value", "is_written_to"),
    [(22, 0, True), (30, 4, True), (30, 8, False)],
    ids=["DT_TEXTREL", "DF_TEXTREL", "DF_BIND_NOW"],
)
def test_text_relocations_are_seen(
    libc_file: Path, tag: int, value: int, *, is_written_to: bool
) -> None:
    data = bytearray(libc_file.read_bytes())
    (dynamic,) = Elf(bytes(data))._file.iter_segments("PT_DYNAMIC")
    struct.pack_into("<QQ", data, dynamic["p_offset"], tag, value)
    assert Elf(bytes(data)).has_text_relocations == is_written_to


def symbol(name: str, *, is_function: bool, size_bytes: int, version: str = "LIBC") -> Symbol:
    return Symbol(name, is_function, size_bytes, version)


class Library:
    """Stands in for bionic: its symbols, one of them private."""

    exported = (
        symbol("read", is_function=True, size_bytes=80),
        symbol("hidden", is_function=True, size_bytes=8, version="LIBC_PRIVATE"),
    )


def test_private_symbols_are_not_offered() -> None:
    assert [found.name for found in toolchain.public_symbols(Library())] == ["read"]


def test_a_stub_keeps_type_and_size() -> None:
    read = symbol("read", is_function=True, size_bytes=80)
    stderr = symbol("stderr", is_function=False, size_bytes=8)
    source = toolchain.stub_source([stderr, read])
    assert source.index("read:") < source.index("stderr:"), "sorted, so that builds repeat"
    assert ".type read, %function" in source
    assert ".type stderr, %object" in source
    assert ".size stderr, 8" in source


names = st.text("abcdefgh/._-", min_size=1, max_size=40)
entries = st.lists(
    st.builds(Entry, names, st.binary(max_size=3_000), st.sampled_from([0, 4, 4_096, 16_384])),
    max_size=5,
    unique_by=lambda entry: entry.name,
)


@given(entries)
def test_stored_entries_are_aligned(made: list[Entry]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.zip"
        write(path, made)
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            assert archive.namelist() == [entry.name for entry in made]
            for entry in made:
                info = archive.getinfo(entry.name)
                assert archive.read(entry.name) == entry.data
                if entry.alignment:
                    assert info.compress_type == zipfile.ZIP_STORED
                    assert data_offset(archive, info) % entry.alignment == 0


def test_the_same_entries_give_the_same_bytes(tmp_path: Path) -> None:
    made = [Entry("lib/a.so", b"x" * 100, 16_384), Entry("b", b"y" * 1_000)]
    for name in ("first", "second"):
        write(tmp_path / name, made)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_missing_tool_is_one_sentence_and_exit_5(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        need_command("no-such-command", "no-such-command, which nobody has")

    assert exit_with(work) == EXIT_ENVIRONMENT == 5
    said = capsys.readouterr().err
    assert said.startswith("error: no-such-command, which nobody has, is missing")
    assert said.count("\n") == 1


def test_without_rustup_a_target_cannot_be_had(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(toolchain, "sysroot", lambda: tmp_path)
    monkeypatch.setattr(toolchain.shutil, "which", lambda _: None)
    with pytest.raises(Missing, match="rustup is missing"):
        toolchain.need_rust("aarch64-linux-android")


def test_an_unknown_target_is_refused_as_such() -> None:
    command = [sys.executable, "-m", "tools.android.cargo", "no-such-target", "build"]
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root)
    assert done.returncode == 2
    assert "aarch64-linux-android" in done.stderr


def test_the_app_has_words_for_all_that_spoils_a_run(root: Path) -> None:
    schema = json.loads((root / "device_probe/report.schema.json").read_text())
    strings = root / "device_probe/android/app/src/main/res/values/strings.xml"
    words = re.findall(r'<string name="condition_(\w+)">', strings.read_text())
    assert sorted(words) == sorted(schema["$defs"]["Condition"]["enum"])
