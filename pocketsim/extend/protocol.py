"""What a protocol of your own is written with; docs/own_protocol.md says how.

>>> class Echo(Protocol):
...     def receive(self, sender, message, now_s):
...         yield Work("hash", len(message))
...         yield Send(sender, message)
>>> list(Echo(Phone(0, 2, [1])).receive(1, b"hello", 0.5))
[Work(operation='hash', bytes=5), Send(to=1, message=b'hello', transaction=None)]
"""

from pocketsim.sim.base.custom_protocol import (
    Deliver,
    Observe,
    Output,
    Outputs,
    Phone,
    Protocol,
    Request,
    Send,
    Work,
)
from pocketsim.sim.base.user_policies import (
    Adversary,
    Partners,
    Proposal,
    Setting,
    TransportPolicy,
    Workload,
)
from pocketsim.sim.trace.columns import Columns as Events

__all__ = [
    "Adversary",
    "Deliver",
    "Events",
    "Observe",
    "Output",
    "Outputs",
    "Partners",
    "Phone",
    "Proposal",
    "Protocol",
    "Request",
    "Send",
    "Setting",
    "TransportPolicy",
    "Work",
    "Workload",
]
