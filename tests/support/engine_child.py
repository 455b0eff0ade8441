"""The engine in a process of its own, for `support.engine_plans`.

Standard input has a pickled plan. Standard output has JSON with the lengths of the columns on its
first line, then the columns.
"""

import json
import pickle
import sys

from pocketsim.sim import _engine

result = _engine.run(pickle.load(sys.stdin.buffer))  # noqa: S301 - our own
columns = result.pop("columns")
result.pop("timeline", None)
head = {**result, "lengths": {name: len(data) for name, data in columns.items()}}
sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + b"".join(columns.values()))
