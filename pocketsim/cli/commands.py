"""The commands, by their words: where each is, and what the help of its group says of it.

In the order of the help. A test compares each line with the first of the command's own help.
"""

from __future__ import annotations

from pocketsim.cli.ui.groups import Entry

COMMANDS = {
    "list": Entry(
        "documents.list_:names",
        "List scenarios, profiles, metrics and other names that commands take, with their titles.",
    ),
    "new": Entry(
        "documents.new:new",
        "Write a scenario that runs as it is, NAME.toml, and a sweep over it, NAME_sweep.toml.",
    ),
    "notebooks": Entry(
        "documents.notebooks:notebooks",
        "Copy the notebooks out of the package, to read, run and change.",
    ),
    "schema": Entry(
        "documents.schema:schema",
        "Print the JSON Schema of a document, by which editors check and complete it.",
    ),
    "run": Entry(
        "runs.run:run",
        "Run a scenario; prints its run directories, and their main metrics to stderr.",
    ),
    "check": Entry(
        "documents.check:check", "Check documents without running; exit 2 on a mistake."
    ),
    "show": Entry(
        "documents.show:show", "Show the runs of a scenario and the sources of its numbers."
    ),
    "doctor": Entry("doctor:doctor", "Check libraries and the engine; exit 5 if one is missing."),
    "report": Entry(
        "runs.report:report",
        "Write one self-contained HTML page about some runs, or figures of them for a paper.",
    ),
    "view": Entry(
        "view:view",
        "Show runs on a local page, until Ctrl-C: side by side, over time, and each transaction.",
    ),
    "export": Entry(
        "runs.export:export",
        "Write a run as CSV, as a graph, as a timeline, as tokens, or runs as an RO-Crate.",
    ),
    "import": Entry(
        "documents.import_:import_",
        "Import recorded contacts, churn, graphs or payments as files for a scenario.",
    ),
    "verify": Entry(
        "runs.verify:verify",
        "Verify the tokens or the blocks that a run keeps: exit 0 if all checks hold, else 3.",
    ),
    "compare": Entry(
        "runs.compare:compare",
        "Compare the metrics of B with those of A, with 95 % intervals, and their scenarios.",
    ),
    "sensitivity": Entry(
        "sweep.sensitivity:sensitivity",
        "Say how much metrics depend on each range of a sweep's design, with 95 % intervals.",
    ),
    "metrics": Entry(
        "runs.metrics:metrics",
        "Show rates, latencies and fates of a real trade, defined as for simulations.",
    ),
    "sweep run": Entry(
        "sweep.run:run",
        "Run the missing runs of a sweep; prints all run directories that exist then.",
    ),
    "sweep plan": Entry(
        "sweep.plan:plan",
        "Show the points of a sweep and which of their runs are there; runs nothing.",
    ),
    "sweep status": Entry(
        "sweep.status:status",
        "Show the progress of a sweep, also of a running one; exit 4 if runs are missing.",
    ),
    "sweep collect": Entry(
        "sweep.collect:collect",
        "Write the metrics of a sweep as one table, a row for each run and repetition.",
    ),
    "sweep report": Entry(
        "sweep.report:report",
        "Write one HTML page about the runs of a sweep that are there, or one figure for a paper.",
    ),
    "sweep slurm": Entry(
        "sweep.slurm:slurm",
        "Print a batch script for SLURM: each element runs one shard of the missing runs.",
    ),
    "profile list": Entry(
        "profile.list_:names", "List shipped profiles, with basis and source of their numbers."
    ),
    "profile show": Entry(
        "profile.show:show",
        "Show every number of a profile, its basis, and which published rows depend on it.",
    ),
    "profile compare": Entry(
        "profile.compare:compare",
        "Compare devices: every number's ratio, with its 95 % interval.",
    ),
    "profile lint": Entry(
        "profile.lint:lint",
        "Find valid but suspicious entries of profiles; exit 3 if there are any.",
    ),
    "profile export": Entry(
        "profile.export:export",
        "Write a device for users of other simulators: rates with 95 % intervals, and its sockets.",
    ),
    "profile pin": Entry(
        "profile.pin:pin",
        "Write a device's profile as that of one process that is pinned to one core.",
    ),
    "profile split": Entry(
        "profile.split:split",
        "Split a profile of version 0.1 into a device and an implementation.",
    ),
    "calibrate reports": Entry(
        "calibrate.reports:calibrate", "Make a device profile from reports of one device."
    ),
    "calibrate implementation": Entry(
        "calibrate.implementation:implementation",
        "Make an implementation from reports that timed the steps of `probe trade`.",
    ),
    "calibrate this-machine": Entry(
        "calibrate.this_machine:this_machine",
        "Profile this machine with Python alone; the result is of no phone and no probe.",
    ),
    "calibrate contacts": Entry(
        "calibrate.contacts:contacts",
        "Fit a law of contacts to a trace of people who share a place.",
    ),
    "calibrate published": Entry(
        "calibrate.published:published",
        "Fit the numbers of a fit document to published rows again, by simulation.",
    ),
    "calibrate presence": Entry(
        "calibrate.presence:presence",
        "Fit how phones come and go to a trace, or to the percentiles of one.",
    ),
    "calibrate sensitivity": Entry(
        "calibrate.sensitivity:sensitivity",
        "Double every number, one at a time, and report which published rows change.",
    ),
    "validate published": Entry(
        "validate.published:validate",
        "Repeat the published experiments: exit 0 if all bars are met, 6 but for known misses, "
        "else 3.",
    ),
    "validate host": Entry(
        "validate.host:host",
        "Trade for real on this computer, simulate the same, and compare: exit 3 if a bar is "
        "missed.",
    ),
}
