"""What commands of tokens take beside the machine of the simulator: files and books."""

from dataclasses import replace

import pytest

from pocketsim.calibration.host.tokens import design, prediction
from pocketsim.calibration.host.tokens.design import DISK, MEMORY, OPERATIONS, Batch
from support.token_batches import FILE_S, Free

TEN = Batch(10, DISK)


def test_beside_the_machine_each_token_is_booked_and_each_file_signed_once():
    once = prediction.beside_s(design.SUBMIT, TEN, Free(bookkeeping_s=1e-6, sign_s=1.0))
    assert once == pytest.approx(10 * 1e-6 + 1.0)


def test_files_are_priced_where_they_are_and_an_idle_commands_is_not_priced_twice():
    files = Free(append_s=1.0, replace_s=FILE_S, create_s=100.0, open_s=10.0)
    for command, replaced, created, opened in (
        (design.MINT, -1, 2, -2),  # an idle authority opens two, and replaces one
        (design.PAY, 0, 2, 0),
        (design.RECEIVE, 0, 0, 1),
        (design.VERIFY, -1, 1, 0),
        (design.REDEEM, 0, 0, 0),
        (design.CASH_IN, 1, 0, 0),
    ):
        appended_s = 1.0 if command.appended else 0.0
        beside_s = prediction.beside_s(command, TEN, files)
        files_s = replaced * FILE_S + created * 100.0 + opened * 10.0
        assert beside_s == pytest.approx(files_s + appended_s)
    assert prediction.beside_s(design.PAY, replace(TEN, place=MEMORY), files) == 0.0


def test_what_an_idle_command_does_in_memory_is_not_priced_twice():
    class Books(Free):
        def bookkeeping_s(self, kernel, tokens):
            idle = {"refuse": 3.0, "request": 5.0}
            name = kernel.removeprefix("token_").removesuffix("_bookkeeping")
            return idle.get(name, 10.0 * tokens)

    assert prediction.beside_s(design.VERIFY, TEN, Books()) == pytest.approx(100.0 - 3.0)
    assert prediction.beside_s(design.SETTLE, TEN, Books()) == pytest.approx(100.0 - 5.0)


def test_a_client_finds_out_where_its_output_goes_and_an_idle_authority_has_done_so_too():
    finding = Free(destination_s=1.0)
    found = {
        command.name: prediction.beside_s(command, TEN, finding)
        for commands in OPERATIONS.values()
        for command in commands
    }
    assert {name for name, beside_s in found.items() if beside_s} == {
        design.PAY.name,
        design.SUBMIT.name,
        design.CASH_IN.name,
    }
    assert set(found.values()) == {0.0, 1.0}


def test_an_idle_command_is_one_of_the_same_kind_of_folder():
    costs = {
        design.REQUEST.name: {"duration_s": 100.0, "cpu_s": 7.0},
        design.REFUSE.name: {"duration_s": 30.0, "cpu_s": 20.0},
    }
    assert prediction.idle_s(design.SUBMIT, costs) == 100.0
    assert prediction.idle_s(design.VERIFY, costs) == 30.0


def test_files_grow_with_their_tokens():
    asked = []

    class Grown(Free):
        def replace_s(self, place, size_bytes):
            asked.append((place, size_bytes))
            return 0.0

        create_s = replace_s

    prediction.beside_s(design.SUBMIT, TEN, Grown())
    wallet, submission, empty = (size for _, size in asked)
    assert submission == 10 * design.SUBMIT.signed_bytes
    assert wallet > submission > empty == design.EMPTY_BYTES
    assert {place for place, _ in asked} == {TEN.place}
