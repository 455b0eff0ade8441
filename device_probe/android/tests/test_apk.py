"""The APK, as Android's own tools and its loader see it."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from tools.android.alignedzip import ALIGNMENT_FIELD, data_offset
from tools.android.elf import Elf

APK = Path(__file__).resolve().parents[3] / "build/android/probe.apk"
LIBRARY = "lib/arm64-v8a/libprobe.so"
PAGE_BYTES = 16_384

# Network, foreground service, wake lock; nothing that a user is asked for.
PERMISSIONS = {
    "android.permission.INTERNET",
    "android.permission.FOREGROUND_SERVICE",
    "android.permission.FOREGROUND_SERVICE_SPECIAL_USE",
    "android.permission.WAKE_LOCK",
}
NATIVE = {"start", "statusOf", "observeOf", "stopOf", "reportOf", "freeOf", "link", "peer", "qr"}


def said(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True)


def output(*command: str) -> str:
    done = said(*command)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def badging() -> str:
    return output("aapt2", "dump", "badging", str(APK))


@pytest.fixture(scope="module")
def library() -> Elf:
    with zipfile.ZipFile(APK) as archive:
        return Elf(archive.read(LIBRARY))


def test_levels_and_architecture(badging: str) -> None:
    assert "package: name='org.pocketsim.probe'" in badging
    assert "sdkVersion:'26'" in badging
    assert "targetSdkVersion:'35'" in badging
    assert re.search(r"native-code: 'arm64-v8a'$", badging, re.MULTILINE)
    assert "launchable-activity: name='org.pocketsim.probe.ProbeActivity'" in badging


def test_it_asks_for_no_more_than_it_needs(badging: str) -> None:
    assert set(re.findall(r"uses-permission[^:]*: name='([^']+)'", badging)) == PERMISSIONS


def test_it_is_not_debuggable(badging: str) -> None:
    # That would spoil what it measures; it is signed with a debug key all the same.
    assert "application-debuggable" not in badging


def test_only_the_screen_is_exported() -> None:
    tree = output("aapt2", "dump", "xmltree", "--file", "AndroidManifest.xml", str(APK))
    exported = re.findall(r"android:exported\([^)]*\)=(\w+)", tree)
    assert sorted(exported) == ["false", "false", "true"]
    assert "extractNativeLibs" in tree
    assert re.search(r"extractNativeLibs\([^)]*\)=false", tree)


def test_the_signature_verifies() -> None:
    verified = output("apksigner", "verify", "--verbose", "--min-sdk-version", "26", str(APK))
    assert verified.startswith("Verifies")
    assert re.search(r"v2 scheme \(APK Signature Scheme v2\): true", verified)
    assert re.search(r"v3 scheme \(APK Signature Scheme v3\): true", verified)


def test_a_changed_byte_breaks_the_signature(tmp_path: Path) -> None:
    changed = tmp_path / "changed.apk"
    with zipfile.ZipFile(APK) as archive:
        at = data_offset(archive, archive.getinfo(LIBRARY))
    data = bytearray(APK.read_bytes())
    data[at + 5_000] ^= 1
    changed.write_bytes(data)
    assert said("apksigner", "verify", str(changed)).returncode != 0


def test_the_library_can_be_mapped_from_the_archive() -> None:
    with zipfile.ZipFile(APK) as archive:
        info = archive.getinfo(LIBRARY)
        assert info.compress_type == zipfile.ZIP_STORED
        assert data_offset(archive, info) % PAGE_BYTES == 0
        assert info.extra[:2] == ALIGNMENT_FIELD.to_bytes(2, "little")
        table = archive.getinfo("resources.arsc")
        assert table.compress_type == zipfile.ZIP_STORED
        assert data_offset(archive, table) % 4 == 0
    output("zipalign", "-c", "-p", "4", str(APK))


def test_the_library_is_for_pages_of_16_kib(library: Elf) -> None:
    assert library.machine == "EM_AARCH64"
    assert library.load_alignments
    assert all(alignment % PAGE_BYTES == 0 for alignment in library.load_alignments)


def test_the_library_needs_only_what_every_phone_has(library: Elf) -> None:
    assert set(library.needed) <= {"libc.so", "libm.so", "libdl.so", "liblog.so"}
    assert not library.has_text_relocations


def test_the_library_exports_what_java_calls_and_nothing_else(library: Elf) -> None:
    prefix = "Java_org_pocketsim_probe_NativeEngine_"
    assert {symbol.name for symbol in library.exported} == {prefix + name for name in NATIVE}


def test_the_classes_are_dex_for_android_8() -> None:
    with zipfile.ZipFile(APK) as archive:
        # API level 26 understands versions up to 038.
        assert archive.read("classes.dex")[:8] in {b"dex\n035\0", b"dex\n037\0", b"dex\n038\0"}
