"""Mistakes that users make: exit 2, the place, a reason and the nearest choice.

Documents are those that `pocketsim new` writes, with one thing wrong. What an answer must hold is
said beside each mistake; nothing is written, and no traceback is shown.
"""

from __future__ import annotations

import pytest

# What stands there, what is written instead, and what the answer names: the place, then the reason.
IN_A_SCENARIO = {
    "a key misspelt": ("duration =", "durration =", "run.durration", "did you mean duration?"),
    "a section misspelt": ("[workload]", "[worklod]", "worklod", "did you mean workload?"),
    "no unit": ('latency = "2ms"', "latency = 2", "wifi.latency", "a duration takes ns us ms s"),
    "another unit": ('latency = "2ms"', 'latency = "2Mbps"', "wifi.latency", "is a bandwidth"),
    "seconds in letters": ('"10s"', '"10 sec"', "run.duration", "did you mean s?"),
    "kilobytes in capitals": ('"100B"', '"1 KB"', "workload.payload", "did you mean kB?"),
    "a negative duration": ('"10s"', '"-10s"', "run.duration", "is negative"),
    "a phone that is not there": ('"moto_g04s"', '"pixel_5"', "profile", "pocketsim list devices"),
    "a phone misspelt": ('"moto_g04s"', '"moto_g4s"', "profile", "did you mean moto_g04s?"),
    "a network that is not there": ('access = "wifi"', 'access = "wfi"', "access", "mean wifi?"),
    "a transport misspelt": ('"udp"', '"quic"', "transport.mode", "did you mean quic_keep?"),
    "a program misspelt": (
        *('"trustchain_throughput_2025"', '"trustchain_throughput"'),
        *("implementation", "did you mean trustchain_throughput_2025?"),
    ),
    "a kind misspelt": ('"paced"', '"pased"', "workload.kind", "did you mean paced?"),
    "a share above one": ("= 0.01", "= 1.5", "wifi.loss_ratio", "less than or equal to 1"),
    "a share in percent": ("= 0.01", '= "1%"', "wifi.loss_ratio", "did you mean 0.01?"),
    "no seed": ("seed = 1\n", "", "run.seed", "is required"),
    "a seed in words": ("seed = 1\n", 'seed = "one"\n', "run.seed", "a whole number"),
    "no phones": ("count = 2", "count = 0", "devices[0].count", "greater than or equal to 1"),
    "a phone alone": ("count = 2", "count = 1", "devices", "at least 2 phones"),
    "a text that does not end": ('title = "Two', "title = Two", "line ", "not TOML"),
    "a rate without quotes": ('["4/s"', "[4/s", "line ", "not TOML"),
    "a rate of nothing": ('["4/s"', '["0/s"', "workload.rate[0]", "more than zero"),
    "a key twice": ("seed = 1\n", "seed = 1\nseed = 2\n", "line ", "cannot overwrite"),
    "a fidelity of another simulator": (
        *("seed = 1\n", 'seed = 1\nfidelity = "packet"\n'),
        *("run.fidelity", "must be one of hybrid, flow"),
    ),
}
IN_A_SWEEP = {
    "an axis misspelt": ("wifi.loss_ratio", "wifi.loss", "[axes]", "did you mean loss_ratio?"),
    "a scenario that is not there": ('"town.toml"', '"twon.toml"', "", "did you mean town.toml?"),
    "a value that is none": ("0.05]", '"1s"]', "wifi.loss_ratio", "must be a plain number"),
    "an axis without values": ("[0.0, 0.01, 0.05]", "[]", "axes.", "must not be empty"),
    "a metric misspelt": (
        *("[axes]", '[report]\nmetric = "succes_ratio"\n\n[axes]'),
        *("report.metric", "did you mean success_ratio?"),
    ),
    "an axis of the report misspelt": (
        *("[axes]", '[report]\nx = "network.access.wifi.los_ratio"\n\n[axes]'),
        *("report.x", "did you mean network.access.wifi.loss_ratio?"),
    ),
    "a colour of the report that is like nothing": (
        *("[axes]", '[report]\nby = "colours"\n\n[axes]'),
        *("report.by", "'colours' does not differ between the lines; there is workload.rate"),
    ),
}
IN_A_COMMAND = {
    "run outtage": "did you mean outage?",
    "run twon.toml": "did you mean town.toml?",
    "run town.toml --set workload.rat=3/s": "workload.rat: unknown key (did you mean rate?)",
    "run town.toml --set workload.rate=3": "a rate takes /s",
    "run town.toml --set workload.rate": "write it as key.path=value",
    "run town.toml --sed 3": "--seed",
    "run town.toml --jobs 0": "'--jobs'",
    "run town.toml --out town.toml": "town.toml: cannot be written: not a directory",
    "run town_sweep.toml": "is a sweep (`pocketsim sweep run` takes it)",
    "sweep run town.toml": "is a scenario (`pocketsim run` takes it)",
    "repport runs": "Did you mean 'report'",
    "report ruins": "no such folder (did you mean runs?)",
    "report town.toml": "town.toml: not a run directory",
    "list phones": "is not one of scenarios, sweeps, devices",
    "import ones x -o y": "did you mean one?",
    "profile compare moto_g04s pixel_5": "pocketsim list devices",
}


@pytest.fixture
def folder(cli, tmp_path):
    """Return a folder with a scenario, a sweep over it, and an empty folder for runs."""
    assert cli("new", "town").returncode == 0
    (tmp_path / "runs").mkdir()
    return tmp_path


def answered(cli, folder, *words):
    """Return what a command answers that has to refuse, and leave the folder as it was."""
    before = sorted(folder.rglob("*"))
    done = cli(*words)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(folder.rglob("*")) == before, "nothing is written"
    return done.stderr


def changed(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize("mistake", IN_A_SCENARIO)
def test_in_a_scenario(cli, folder, mistake):
    old, new, place, reason = IN_A_SCENARIO[mistake]
    changed(folder / "town.toml", old, new)
    said = answered(cli, folder, "check", "town.toml")
    assert said.startswith("town.toml: ")
    assert place in said
    assert reason in said


@pytest.mark.parametrize("mistake", IN_A_SWEEP)
def test_in_a_sweep(cli, folder, mistake):
    old, new, place, reason = IN_A_SWEEP[mistake]
    changed(folder / "town_sweep.toml", old, new)
    for command in (["check"], ["sweep", "run"]):
        said = answered(cli, folder, *command, "town_sweep.toml")
        assert place in said
        assert reason in said


@pytest.mark.parametrize("line", IN_A_COMMAND)
def test_in_a_command(cli, folder, line):
    assert IN_A_COMMAND[line] in answered(cli, folder, *line.split())
