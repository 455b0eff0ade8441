"""What the help of each command ends with: lines to paste. A test parses every one.

Names are of what comes with the package, files are the user's own, RUN is a run directory.
"""

from __future__ import annotations


def epilog(words: str) -> str:
    """Return the examples of a command, or of a group of them, as its help shows them."""
    # What begins with this mark is not filled.
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in EXAMPLES[words])])


EXAMPLES = {
    "": (
        "pocketsim list scenarios",
        "pocketsim run udp_100b --set workload.rate=16/s",
        "pocketsim new my_phones",
        "pocketsim show market",
    ),
    "list": ("pocketsim list scenarios", "pocketsim list subsets --json"),
    "new": ("pocketsim new my_phones", "pocketsim new studies/my_town --from market"),
    "notebooks": ("pocketsim notebooks course",),
    "schema": ("pocketsim schema scenario", "pocketsim schema profile > profile.schema.json"),
    "run": (
        "pocketsim run udp_100b",
        "pocketsim run udp_100b --set workload.rate=16/s --set run.repetitions=2 --seed 3",
        "pocketsim run my_phones.toml --dry-run",
    ),
    "check": (
        "pocketsim check my_phones.toml my_phones_sweep.toml",
        "pocketsim check moto_g04s",
    ),
    "show": (
        "pocketsim show market",
        "pocketsim show udp_100b --set workload.rate=16/s --json",
    ),
    "doctor": ("pocketsim doctor",),
    "report": (
        "pocketsim report runs/udp_100b",
        "pocketsim report runs/udp_100b runs/iroh_keep_100b -o both.html",
        "pocketsim report runs/udp_100b --paper figures",
    ),
    "view": (
        "pocketsim view runs",
        "pocketsim view RUN --open",
        "pocketsim view my_phones_sweep.toml --port 8000",
    ),
    "export": (
        "pocketsim export RUN -o events.csv",
        "pocketsim export RUN --to gexf -o phones.gexf --repetition 0",
        "pocketsim export RUN -o run.pftrace",
    ),
    "import": (
        "pocketsim import tij contacts.dat.gz -o meetings",
        "pocketsim import fta event_trace.tab -o availability --origin 1163000000",
        "pocketsim import payments log.csv -o paid --columns payer=from,payee=to,amount=value",
    ),
    "verify": ("pocketsim verify RUN", "pocketsim verify tokens --json"),
    "validate": (
        "pocketsim validate --subset latency",
        "pocketsim validate --rows --report validation.html",
    ),
    "validate published": (
        "pocketsim validate --subset latency",
        "pocketsim validate --rows --report validation.html",
    ),
    "validate host": ("pocketsim validate host", "pocketsim validate host --quick -o this_host"),
    "compare": (
        "pocketsim compare 'runs/mine/udp-100B-4ps-*' 'runs/mine/udp-100B-16ps-*'",
        "pocketsim compare A B --metric rtt_ms_p95 --detect 1%",
    ),
    "sensitivity": ("pocketsim sensitivity which_cost_matters --metric rtt_ms_p50",),
    "metrics": ("pocketsim metrics log.csv --json",),
    "sweep": (
        "pocketsim sweep plan rate_by_transport",
        "pocketsim sweep run rate_by_transport --jobs 2",
    ),
    "sweep run": (
        "pocketsim sweep run my_phones_sweep.toml",
        "pocketsim sweep run rate_by_transport --shard 1/2",
        "pocketsim sweep run rate_by_transport --executor dask --scheduler tcp://login:8786",
    ),
    "sweep plan": ("pocketsim sweep plan rate_by_transport",),
    "sweep status": ("pocketsim sweep status my_phones_sweep.toml --watch",),
    "sweep report": ("pocketsim sweep report my_phones_sweep.toml -o sweep.html",),
    "sweep collect": ("pocketsim sweep collect my_phones_sweep.toml -o all.parquet",),
    "sweep slurm": (
        "pocketsim sweep slurm rate_by_transport --array 6 --time 1h",
        "pocketsim sweep slurm my_phones_sweep.toml --array 200%20 --time 4:00:00 --submit",
    ),
    "profile": (
        "pocketsim profile list",
        "pocketsim profile show moto_g04s",
    ),
    "profile list": ("pocketsim profile list --json",),
    "profile compare": (
        "pocketsim profile compare moto_g04s pocophone_f1 thinkpad_l13",
        "pocketsim profile compare moto_g04s my_phone.toml --payload 1200 --plot ratios.svg",
    ),
    "profile lint": ("pocketsim profile lint my_phone.toml", "pocketsim profile lint moto_g04s"),
    "profile export": (
        "pocketsim profile export --to rates moto_g04s -o moto_g04s.json",
        "pocketsim profile export my_phone.toml -o my_phone.csv --payload 1200",
    ),
    "profile show": (
        "pocketsim profile show moto_g04s",
        "pocketsim profile show my_phone.toml",
    ),
    "profile pin": (
        "pocketsim profile pin my_computer.toml -o one_core.toml --report report.json",
    ),
    "profile split": ("pocketsim profile split old_phone.toml -o profiles",),
    "calibrate": ("pocketsim calibrate report.json -o my_phone.toml",),
    "calibrate reports": (
        "pocketsim calibrate report.json -o my_phone.toml",
        "pocketsim calibrate report.json -o my_phone.toml --base moto_g04s",
    ),
    "calibrate implementation": (
        "pocketsim calibrate implementation report.json --device my_phone.toml -o program.toml",
    ),
    "calibrate this-machine": (
        "pocketsim calibrate this-machine",
        "pocketsim calibrate this-machine -o laptop.toml --seconds 30 --base moto_g04s",
    ),
    "calibrate contacts": (
        "pocketsim calibrate contacts meetings/contacts.csv -o office.toml",
        "pocketsim calibrate contacts contacts.dat.gz --format tij --until 5 -o office.toml",
    ),
    "calibrate published": ("pocketsim calibrate published laptop_cores -o cores.toml",),
    "calibrate presence": (
        "pocketsim calibrate presence locked_charging_wifi -o law.toml",
        "pocketsim calibrate presence phones.csv --watched watched.csv -o law.toml",
    ),
    "calibrate sensitivity": (
        "pocketsim calibrate sensitivity -o sensitivity.toml --subset udp --samples 0",
    ),
}
