"""Builds the app: resources, Java, native library, one signed APK.

The steps are those of any APK (aapt2, javac, D8, ZIP, apksigner) with tools of Debian and Maven.
What deliberately does not live here: the native library's build, which is cargo's, and any check of
the result, which is a test.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from tools.android import alignedzip
from tools.android.environment import BUILD, ROOT, Missing, exit_with, need_command


def main() -> None:
    """Build `build/android/probe.apk`, signed with a debug key."""
    made = BUILD / "apk"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    framework, r8 = jar("framework"), jar("r8")
    resources = link_resources(made, framework)
    classes = compile_java(made, framework)
    dex = convert(made, framework, r8, classes)
    unsigned = made / "unsigned.apk"
    alignedzip.write(unsigned, entries(resources, dex, LIBRARY))
    sign(unsigned, BUILD / "probe.apk")


def link_resources(made: Path, framework: Path) -> Path:
    """Compile the resources and the manifest; write R.java beside them."""
    aapt2 = need_command("aapt2", "aapt2, which compiles resources")
    compiled, linked = made / "resources.zip", made / "resources.apk"
    run(aapt2, "compile", "--dir", APP / "res", "-o", compiled)
    levels = ["--min-sdk-version", SDK_MIN, "--target-sdk-version", SDK_TARGET]
    name, code = version()
    run(
        *(aapt2, "link", "-I", framework, "--manifest", APP / "AndroidManifest.xml"),
        *(*levels, "--version-name", name, "--version-code", code),
        *("--java", made / "generated", "-o", linked, compiled),
    )
    return linked


def compile_java(made: Path, framework: Path) -> Path:
    """Compile the app's Java against the framework."""
    classes = made / "classes"
    sources = [*(APP / "java").rglob("*.java"), *(made / "generated").rglob("*.java")]
    javac = need_command("javac", "javac")
    # The framework has its own java.*, which the JDK's must not meet.
    options = ["--release", JAVA_RELEASE, "-Xlint:all,-options,-serial,-classfile", "-Werror"]
    run(javac, *options, "-classpath", framework, "-d", classes, *sorted(sources))
    return classes


def convert(made: Path, framework: Path, r8: Path, classes: Path) -> Path:
    """Convert class files to what Android runs."""
    java = need_command("java", "java")
    home = Path(java).resolve().parent.parent
    made_dex = made / "dex"
    made_dex.mkdir()
    libraries = ["--lib", str(framework), "--lib", str(home)]
    options = ["--release", "--min-api", SDK_MIN, "--output", str(made_dex)]
    inputs = sorted(classes.rglob("*.class"))
    run(java, "-cp", r8, "com.android.tools.r8.D8", *libraries, *options, *inputs)
    return made_dex / "classes.dex"


def entries(resources: Path, dex: Path, library: Path) -> list[alignedzip.Entry]:
    """Return what goes into the APK; what Android maps is stored: resource table and library."""
    if not library.exists():
        raise Missing(f"{library.relative_to(ROOT)} is missing: run make apk")
    with zipfile.ZipFile(resources) as archive:
        found = [
            alignedzip.Entry(name, archive.read(name), 4 if name == "resources.arsc" else 0)
            for name in archive.namelist()
        ]
    found.append(alignedzip.Entry("classes.dex", dex.read_bytes()))
    inside = f"lib/arm64-v8a/{library.name}"
    found.append(alignedzip.Entry(inside, library.read_bytes(), PAGE_BYTES))
    return found


def sign(unsigned: Path, signed: Path) -> None:
    """Sign with a debug key, made once and the same from then on so that updates install."""
    keystore = BUILD / "debug.keystore"
    if not keystore.exists():
        keytool = need_command("keytool", "keytool")
        name = ["-dname", "CN=pocketsim debug", "-validity", "10000"]
        key = ["-keyalg", "RSA", "-keysize", "2048", "-alias", ALIAS, *name]
        run(keytool, "-genkeypair", "-keystore", keystore, *key, *PASSWORDS, quiet=True)
    apksigner = need_command("apksigner", "apksigner, which signs the app")
    password = ["--ks-pass", f"pass:{PASSWORD}", "--ks-key-alias", ALIAS]
    run(apksigner, "sign", "--ks", keystore, *password, "--out", signed, unsigned)


def jar(name: str) -> Path:
    """Return a jar that Maven has fetched."""
    path = BUILD / "jars" / f"{name}.jar"
    if not path.exists():
        raise Missing(f"{path.relative_to(ROOT)} is missing: run make apk")
    return path


def version() -> tuple[str, str]:
    """Return the workspace's version and the number that grows with it."""
    package = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    major, minor, patch = (int(part) for part in package["version"].split("."))
    return package["version"], str(major * 1_000_000 + minor * 1_000 + patch)


def run(*command: str | Path, quiet: bool = False) -> None:
    """Run a command that must not fail."""
    output = subprocess.DEVNULL if quiet else None
    subprocess.run([str(part) for part in command], check=True, stdout=output, stderr=output)


APP = ROOT / "device_probe/android/app/src/main"
LIBRARY = BUILD / "libprobe.so"
# Android 8.0, the oldest with notification channels; Android 15, the first with pages of 16 KiB.
SDK_MIN, SDK_TARGET = "26", "35"
PAGE_BYTES = 16_384
# What D8 understands without leaving calls to bootstrap methods that Android 8 lacks.
JAVA_RELEASE = "11"
# A debug key protects nothing; these are the names that Android's own tools give it.
ALIAS, PASSWORD = "androiddebugkey", "android"
PASSWORDS = ["-storepass", PASSWORD, "-keypass", PASSWORD]


if __name__ == "__main__":
    sys.exit(exit_with(main))
