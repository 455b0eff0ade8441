"""Whom phones turn to, and how long they go on trying: partners and a policy of the transport."""

from pocketsim.protocol import Partners, Phone, TransportPolicy


class Popular(Partners):
    """Phones like each other the less the higher their number: Zipf's law with an exponent."""

    def __init__(self, phone: Phone) -> None:
        super().__init__(phone)
        exponent = phone.options.get("exponent", 1.0)
        self.weights = [1.0 / (1 + peer) ** exponent for peer in phone.peers]

    def choose(self, now_s: float) -> int:
        """Choose a peer by its weight."""
        (peer,) = self.phone.chance.choices(self.phone.peers, self.weights)
        return peer


class BackOff(TransportPolicy):
    """Tries again what failed, each time after about twice as long, up to a number of attempts."""

    def failed(
        self, to: int, size_bytes: int, reason: str, attempts: int, now_s: float
    ) -> float | None:
        """Say when to try again: half of the wait is drawn, so that phones do not keep step."""
        options = self.phone.options
        if reason == "oversized" or attempts >= options.get("attempts", 5):
            return None
        wait_s: float = options.get("first_wait_s", 1.0) * 2 ** (attempts - 1)
        return now_s + wait_s * (0.5 + 0.5 * self.phone.chance.random())
