"""QUIC against aioquic: its client with the probe's servers, the probe's client with its server."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import re
import socket
import ssl
import struct
from contextlib import asynccontextmanager

import pytest

from support.interop_programs import PATIENCE_S, running

pytest.importorskip("aioquic", reason="aioquic is in the dev group of pyproject.toml")

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, StreamReset
from aioquic.tls import CipherSuite, Epoch
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from support.interop_trader import (
    COOKIE,
    FINISH,
    READY,
    START,
    SUMMARY,
    WELCOME,
    Host,
    Trader,
    hello,
    opened,
    question,
    spelled,
)

pytestmark = pytest.mark.interop

ALPN = "pocketsim-probe/1"


def client_configuration(**options):
    # The certificate protects nothing here: the probe makes one for each run.
    return QuicConfiguration(
        is_client=True,
        alpn_protocols=[ALPN],
        verify_mode=ssl.CERT_NONE,
        server_name="pocketsim",
        **options,
    )


def run(conversation):
    async def limited():
        async with asyncio.timeout(PATIENCE_S):
            return await conversation

    return asyncio.run(limited())


async def ask(connection, content):
    """Send `content` on a stream of its own and return everything that comes back on it."""
    reader, writer = await connection.create_stream()
    writer.write(content)
    writer.write_eof()
    return await reader.read()


async def keys_confirmed(connection):
    """Wait until the server acknowledged packets under the present keys.

    Only then may keys change again (RFC 9001, section 6.1), which aioquic leaves to its user. The
    server's QUIC changes them, too, after its first 10 to 1 000 packets: where that was a moment
    ago, another change leaves the ends a phase apart, and nothing is understood any more.
    """
    keys = connection._quic._cryptos[Epoch.ONE_RTT]
    phase = None
    while phase != keys.key_phase:
        phase = keys.key_phase
        assert await ask(connection, b"Ebytes") == b"bytes"


# The echo and the sink of `probe serve`.


@pytest.fixture(scope="module")
def served(probe):
    """Return address and port of the QUIC side of `probe serve`."""
    with running(probe, "serve", "--bind", "127.0.0.1:0") as (_, line):
        host, _, port = json.loads(line)["quic"].rpartition(":")
        yield host, int(port)


@pytest.mark.parametrize("size", [0, 1, 1200, 100_000, 1_000_000])
def test_bytes_come_back(served, size):
    async def conversation():
        content = bytes(at % 251 for at in range(size))
        async with connect(*served, configuration=client_configuration()) as connection:
            assert await ask(connection, b"E" + content) == content
            assert await ask(connection, b"S" + content) == struct.pack(">Q", size)

    run(conversation())


@pytest.mark.parametrize("suite", list(CipherSuite)[:3])
def test_each_cipher_suite_works(served, suite):
    async def conversation():
        configuration = client_configuration(cipher_suites=[suite])
        async with connect(*served, configuration=configuration) as connection:
            assert await ask(connection, b"Ebytes") == b"bytes"

    run(conversation())


def test_many_streams_at_once_and_new_keys_in_between(served):
    async def conversation():
        async with connect(*served, configuration=client_configuration()) as connection:
            for _ in range(3):
                contents = [bytes([number]) * 3000 for number in range(50)]
                answers = [ask(connection, b"E" + content) for content in contents]
                assert await asyncio.gather(*answers) == contents
                await keys_confirmed(connection)
                connection.request_key_update()

    run(conversation())


def test_a_client_that_moves_to_another_port_is_followed(served):
    async def conversation():
        async with connect(*served, configuration=client_configuration()) as connection:
            assert await ask(connection, b"Ebefore") == b"before"
            loop = asyncio.get_running_loop()
            moved, _ = await loop.create_datagram_endpoint(
                lambda: connection, local_addr=("::", 0), family=socket.AF_INET6
            )
            connection.connection_made(moved)
            assert await ask(connection, b"Eafter") == b"after"
            moved.close()

    run(conversation())


def test_another_protocol_is_refused(served):
    async def conversation():
        configuration = client_configuration()
        configuration.alpn_protocols = ["h3"]
        async with connect(*served, configuration=configuration):
            pass

    with pytest.raises(ConnectionError):
        run(conversation())


def test_a_stream_that_asks_for_nothing_is_reset_and_the_others_go_on(served):
    reset = asyncio.Event()

    class Watching(QuicConnectionProtocol):
        def quic_event_received(self, event):
            if isinstance(event, StreamReset):
                reset.set()
            super().quic_event_received(event)

    async def conversation():
        options = {"configuration": client_configuration(), "create_protocol": Watching}
        async with connect(*served, **options) as connection:
            # aioquic's streams hide a reset, so this one is made by hand.
            stream = connection._quic.get_next_available_stream_id()
            connection._quic.send_stream_data(stream, b"?what")
            connection.transmit()
            await reset.wait()
            assert await ask(connection, b"Estill") == b"still"

    run(conversation())


# A trade with a dialler written in Python.


@pytest.fixture
def listener(probe):
    """Return the base address of `probe trade listen`, and the process."""
    with running(probe, "trade", "listen", "--bind", "127.0.0.1:0", "--json") as (process, line):
        host, port = re.search(r"listening on (\S+):(\d+)", line).groups()
        yield (host, int(port)), process


class Asker:
    """Asks the listener's control port, as a dialler does."""

    def __init__(self, address, session, trader):
        self.session, self.trader, self.peer = session, trader, b""
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def ask(self, datagram, kind):
        self.socket.send(datagram)
        answer = self.socket.recv(2000)
        assert len(answer) <= len(datagram)
        assert answer[5] == kind
        return answer

    def meet(self):
        """Say hello twice, for the cookie; return the listener's key."""
        cookie = self.ask(hello(self.session, self.trader, "quic_keep"), COOKIE)[14:]
        welcome = self.ask(hello(self.session, self.trader, "quic_keep", cookie), WELCOME)
        self.peer = welcome[14:46]
        opened(welcome, self.peer)
        self.ask_of(START, READY)
        return self.peer

    def ask_of(self, kind, answer):
        """Ask about the first repetition; return what follows the kind of the answer."""
        asked = question(kind, self.session, 0, self.trader)
        return opened(self.ask(asked, answer), self.peer)


def test_a_dialler_in_python_trades_with_the_probe(listener):
    (host, port), _ = listener
    trader, session = Trader(), 7

    async def trade(peer):
        configuration = client_configuration()
        async with connect(host, port + 1, configuration=configuration) as connection:
            for index in range(1, 21):
                proposal = trader.propose(peer, index)
                trader.complete(proposal, await ask(connection, spelled(proposal)))

    with Asker((host, port), session, trader) as asker:
        run(trade(asker.meet()))
        summary = asker.ask_of(FINISH, SUMMARY)
    assert struct.unpack(">Q", summary[12:20]) == (20,)
    assert summary[20:52] == trader.digest()


def test_a_stranger_proves_its_address_once_and_whoever_said_hello_has_done_so(listener):
    (host, port), process = listener

    async def knock():
        async with connect(host, port + 1, configuration=client_configuration()) as connection:
            assert await ask(connection, b"no block") == b""

    run(knock())
    with Asker((host, port), 9, Trader()) as asker:
        asker.meet()
    run(knock())
    process.terminate()
    counted = json.loads(process.stdout.read())["counted"]
    assert counted == {"malformed": 2, "quic_addresses_to_prove": 1}


def test_a_forged_block_is_refused_and_counted(listener):
    (host, port), _ = listener
    trader, session = Trader(), 8

    async def cheat(peer):
        proposal = trader.propose(peer, 1) | {"index": 2}
        async with connect(host, port + 1, configuration=client_configuration()) as connection:
            assert await ask(connection, spelled(proposal)) == b""
            assert await ask(connection, b"no block") == b""

    with Asker((host, port), session, trader) as asker:
        run(cheat(asker.meet()))
        summary = asker.ask_of(FINISH, SUMMARY)
    stored, malformed = struct.unpack(">Q32xQ", summary[12:60])
    refused = summary[61:]
    assert (stored, malformed, summary[60]) == (0, 1, 1)
    assert struct.unpack(">I", refused[1:]) == (1,)


# The probe's dialler with a listener written in Python.


class Control(asyncio.DatagramProtocol):
    """The control port of a listener."""

    def __init__(self, trader):
        self.host = Host(trader)

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        self.transport.sendto(self.host.answer(data), addr)


def server_configuration(tmp_path):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pocketsim")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    configuration = QuicConfiguration(is_client=False, alpn_protocols=[ALPN])
    configuration.certificate, configuration.private_key = certificate, key
    return configuration


@asynccontextmanager
async def python_listener(trader, configuration, negotiated):
    """Listen on two ports in a row; give the first."""

    def on_stream(reader, writer):
        async def answer():
            writer.write(trader.countersign(await reader.read()))
            writer.write_eof()

        tasks.add(asyncio.ensure_future(answer()))

    class Server(QuicConnectionProtocol):
        def quic_event_received(self, event):
            if isinstance(event, ProtocolNegotiated):
                negotiated.append(event.alpn_protocol)
            super().quic_event_received(event)

    tasks: set[asyncio.Future] = set()
    loop = asyncio.get_running_loop()
    control, _ = await loop.create_datagram_endpoint(
        lambda: Control(trader), local_addr=("127.0.0.1", 0)
    )
    port = control.get_extra_info("sockname")[1]
    server = await serve(
        "127.0.0.1",
        port + 1,
        configuration=configuration,
        create_protocol=Server,
        stream_handler=on_stream,
    )
    try:
        yield port
        await asyncio.gather(*tasks)
    finally:
        server.close()
        control.close()


@pytest.mark.parametrize("carrier", ["quic_keep", "quic_reconnect"])
def test_the_probe_trades_with_a_listener_in_python(probe, tmp_path, carrier):
    trader, negotiated = Trader(), []

    async def conversation():
        configuration = server_configuration(tmp_path)
        async with python_listener(trader, configuration, negotiated) as port:
            options = ["--rate", "10", "--duration", "2s", "--repetitions", "1", "--json"]
            dialler = await asyncio.create_subprocess_exec(
                probe,
                *["trade", "dial", f"127.0.0.1:{port}", "--carrier", carrier, *options],
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
            said, _ = await dialler.communicate()
            return dialler.returncode, json.loads(said)

    code, outcome = run(conversation())
    (repetition,) = outcome["repetitions"]
    assert (code, repetition["complete"]) == (0, True)
    assert repetition["stored"] == len(trader.stored) == 20
    assert set(negotiated) == {ALPN}
    assert len(negotiated) == (1 if carrier == "quic_keep" else 20)
