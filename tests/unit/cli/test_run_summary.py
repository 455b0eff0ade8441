import pytest

from pocketsim import testing
from pocketsim.cli.ui import console, run_summary


@pytest.fixture
def said(monkeypatch):
    lines = []
    monkeypatch.setattr(console, "say", lines.append)
    return lines


def test_main_metrics_of_trades_fit_a_terminal(tmp_path, said, capsys):
    runs = [
        testing.run_dir(tmp_path, testing.resolved(rate_per_s=rate), testing.Shape(lost_ratio=0.1))
        for rate in (4.0, 16.0)
    ]
    run_summary.show(runs, ["devices[0].count=50"])
    title, head, *rows = said
    assert title == "\nmeans over 5 repetitions; devices[0].count=50"
    assert head.split()[:4] == ["run", "sent/s", "stored/s", "success"]
    assert [row.split("  ")[1] for row in rows] == ["udp rate 4/s", "udp rate 16/s"]
    assert all(" %" in row for row in rows)
    assert max(map(len, said)) <= 80
    assert capsys.readouterr().out == ""  # data is the directories' alone


def test_a_metric_that_no_run_defines_has_no_column(tmp_path, said):
    nothing = testing.Shape(lost_ratio=1.0)
    run_summary.show([testing.run_dir(tmp_path, testing.resolved(), nothing)], [])
    assert "RTT p50 ms" not in said[1]
    assert "success" in said[1]
