"""Fetches the jars that the APK is built and tested with, once, through Maven."""

from __future__ import annotations

import subprocess
import sys
import zipfile

from tools.android.environment import BUILD, ROOT, exit_with, need_command


def main() -> None:
    """Copy the jars that the tests' project names into `build/android/jars`; mark the end."""
    maven = need_command("mvn", "Maven, which fetches jars")
    project = ROOT / "device_probe/android/tests/pom.xml"
    command = [maven, "-B", "-q", "-ntp", "-f", str(project), "dependency:copy@jars"]
    subprocess.run(command, check=True)
    # A class path cannot hold an AAR; its classes are in a jar inside.
    with zipfile.ZipFile(BUILD / "jars/monitor.aar") as archive:
        (BUILD / "jars/monitor.jar").write_bytes(archive.read("classes.jar"))
    (BUILD / "jars/.complete").touch()


if __name__ == "__main__":
    sys.exit(exit_with(main))
