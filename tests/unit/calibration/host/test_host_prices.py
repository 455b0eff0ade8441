"""What reports of the probe say of a host: prices beside the machine of tokens."""

import pytest

from pocketsim.api.host.host_prices import ReportPrices
from pocketsim.api.host.host_validation import kernel_rtt_s
from pocketsim.calibration.host.tokens.design import DISK, MEMORY
from pocketsim.sim.base.errors import EnvironmentMissingError
from support import synthetic_reports


def prices(kernel="token_pay_bookkeeping", parameter="tokens", times_s=(), phones=1):
    """Return the prices of phones that take so long for a kernel, by the value of a parameter."""
    reports = []
    for _ in range(phones):
        phone = synthetic_reports.Phone(sigma=0.0)
        told = phone.report()
        for value, time_s in times_s:
            both = {name: phone.times(time_s) for name in ("cpu_s", "wall_s")}
            parameters = {parameter: value} if parameter else {}
            told["measurements"].append(
                synthetic_reports.measurement(kernel, "storage", both, parameters=parameters)
            )
        reports.append(synthetic_reports.in_memory(told))
    return ReportPrices(reports)


def test_signatures_lie_on_the_lines_of_the_report():
    found = prices()
    assert found.sign_s(100_000) == pytest.approx(60e-6 + 100_000 * 2e-9, rel=1e-6)
    assert found.check_s(1000) == pytest.approx(150e-6 + 1000 * 1e-9, rel=1e-6)


def test_books_go_on_along_their_line_beyond_the_most_tokens():
    found = prices(times_s=[(1, 1e-6), (5, 5e-6)])
    told_s = [found.bookkeeping_s("token_pay_bookkeeping", tokens) for tokens in (1, 3, 9)]
    assert told_s == pytest.approx([1e-6, 3e-6, 9e-6])


def test_an_append_beyond_the_largest_takes_longer():
    sizes = [(size, 100e-6 + size * 10e-9) for size in (287, 668, 4096, 65_536)]
    found = prices("memory_file_append_fsync", "bytes", sizes, phones=2)
    largest_s = found.append_s(MEMORY, 65_536)
    assert largest_s == pytest.approx(100e-6 + 655.36e-6, rel=1e-6)
    beyond_s = found.append_s(MEMORY, 287_000)
    assert beyond_s > largest_s
    assert beyond_s == pytest.approx(100e-6 + 2870e-6, rel=1e-6)


def test_files_in_memory_have_prices_of_their_own():
    found = prices("memory_file_replace_fsync", "bytes", [(668, 30e-6)])
    assert found.replace_s(MEMORY, 668) == pytest.approx(30e-6)
    with pytest.raises(EnvironmentMissingError, match="no report of the probe has file_replace_f"):
        found.replace_s(DISK, 668)
    found = prices("memory_file_create_fsync", "bytes", [(668, 20e-6)])
    assert found.create_s(MEMORY, 668) == pytest.approx(20e-6)


def test_opening_a_file_costs_by_its_size():
    found = prices("file_open_read", "bytes", [(287, 2e-6), (65_536, 4e-6)])
    assert found.open_s(287) == pytest.approx(2e-6)
    assert 4e-6 < found.open_s(100_000) < 6e-6


def test_where_an_output_goes_has_one_price():
    found = prices("output_destination", None, [(None, 12e-6)])
    assert found.destination_s() == pytest.approx(12e-6)


def test_files_on_a_disk_have_the_prices_of_the_reports():
    sizes = [(668, 400e-6), (65_536, 700e-6)]
    found = prices("file_replace_fsync", "bytes", sizes)
    assert found.replace_s(DISK, (668 + 65_536) // 2) == pytest.approx(550e-6)
    beyond_s = found.replace_s(DISK, 2 * 65_536)
    assert beyond_s == pytest.approx(700e-6 + 300e-6 * 65_536 / (65_536 - 668))
    for kernel, price in (("append", "append_s"), ("create", "create_s")):
        found = prices(f"file_{kernel}_fsync", "bytes", [(668, 100e-6)])
        assert getattr(found, price)(DISK, 287) == pytest.approx(100e-6)


def test_of_one_size_alone_all_appends_cost_the_same():
    found = prices("memory_file_append_fsync", "bytes", [(668, 130e-6)])
    assert found.append_s(MEMORY, 287_000) == pytest.approx(130e-6)


def test_one_append_is_the_median_and_not_the_mean_of_many():
    wall = {"wall_s": synthetic_reports.Phone(sigma=1.0).times(100e-6, iterations=1)}
    told = synthetic_reports.Phone(sigma=0.0).report()
    case = synthetic_reports.measurement(
        "memory_file_append_fsync", "storage", wall, parameters={"bytes": 1}
    )
    told["measurements"].append(case)
    found = ReportPrices([synthetic_reports.in_memory(told)])
    (samples,) = case["quantities"]
    assert found.append_s(MEMORY, 1) == pytest.approx(samples["samples"]["median"], rel=1e-4)
    assert samples["samples"]["mean"] > 1.2 * samples["samples"]["median"]


def test_what_no_report_has_is_said():
    with pytest.raises(EnvironmentMissingError, match="no report of the probe has token_pay_book"):
        prices().bookkeeping_s("token_pay_bookkeeping", 1)


def test_the_kernels_round_trip_is_between_cores_where_that_was_timed():
    phone = synthetic_reports.Phone(sigma=0.0)
    whole = phone.waking_report()
    woken, echoes = (
        synthetic_reports.in_memory({**whole, "measurements": several})
        for several in (
            whole["measurements"],
            [one for one in whole["measurements"] if one["kernel"] != "udp_wake_up"],
        )
    )
    between_s = (2 * synthetic_reports.PASSAGE_S, 2 * synthetic_reports.PASSAGE_S)
    assert kernel_rtt_s([woken, echoes], 16.0) == pytest.approx(between_s)
    assert kernel_rtt_s([echoes], 16.0) == pytest.approx((60e-6, 60e-6))


def test_without_a_round_trip_there_is_no_null():
    with pytest.raises(EnvironmentMissingError, match="udp_wake_up or udp_round_trip"):
        kernel_rtt_s([], 668.0)
