//! What the app reads, as it reads it.

use std::collections::BTreeMap;
use std::sync::Arc;

use pocketsim_probe_core::kernel::{Case, Group, Work};
use pocketsim_probe_core::report::Measurement;
use pocketsim_probe_core::run::{Observer, Position};
use pocketsim_probe_core::trade::{Progress, TradeObserver};
use probe::status::Board;
use serde_json::{json, Value};

fn case(kernel: &'static str) -> Case {
    Case {
        kernel,
        group: Group::Crypto,
        parameters: BTreeMap::from([("bytes", 64.0)]),
        work: Work::Experiment(Arc::new(|_| Ok(Vec::new()))),
        scales: false,
    }
}

fn at(number: usize) -> Position {
    Position {
        number,
        total: 3,
        left_s: 1.0,
    }
}

fn measurement(kernel: &str, median: Option<f64>) -> Measurement {
    let samples = |median| {
        json!([{"name": "wall_s", "samples": {"count": 1, "mean": median, "standard_deviation": 0.0,
            "minimum": median, "median": median, "maximum": median, "values": null,
            "quantiles": null}}])
    };
    serde_json::from_value(json!({
        "kernel": kernel, "group": "crypto", "parameters": {"bytes": 64.0}, "threads": 1,
        "core_class": null, "status": if median.is_some() { "measured" } else { "not_measured" },
        "reason": if median.is_some() { None } else { Some("no such thing") },
        "warm_up": null, "iterations_per_sample": null, "rounds": [],
        "quantities": median.map_or(json!([]), samples)
    }))
    .expect("a measurement")
}

fn shown(board: &Board) -> Value {
    serde_json::to_value(board.status()).expect("JSON")
}

#[test]
fn a_run_is_followed_case_by_case() {
    let board = Board::new("run");
    assert_eq!(shown(&board)["stage"], "running");
    assert_eq!(shown(&board)["current"], Value::Null);
    board.started(&at(1), &case("sign"));
    assert_eq!(shown(&board)["current"]["kernel"], "sign");
    assert_eq!(shown(&board)["done"], 0);
    board.measured(&measurement("sign", Some(2e-5)));
    board.started(&at(2), &case("sign"));
    board.measured(&measurement("sign", Some(3e-5)));
    board.started(&at(3), &case("seal"));
    board.measured(&measurement("seal", None));
    let status = shown(&board);
    assert_eq!((&status["done"], &status["total"]), (&json!(3), &json!(3)));
    let kernels = status["kernels"].as_array().expect("a list");
    assert_eq!(kernels.len(), 2, "one entry for each kernel");
    assert_eq!(kernels[0]["measured"], 2);
    assert_eq!(kernels[0]["median"], 3e-5);
    assert_eq!(kernels[1]["quantity"], Value::Null);
    assert_eq!(kernels[1]["reason"], "no such thing");
}

#[test]
fn an_end_is_not_taken_back() {
    let board = Board::new("run");
    board.stopping();
    assert_eq!(shown(&board)["stage"], "stopping");
    board.finished(Some(Vec::new()));
    board.stopping();
    assert_eq!(shown(&board)["stage"], "finished");
    assert_eq!(shown(&board)["spoiled"], json!([]));
}

#[test]
fn a_trade_shows_its_figures() {
    let board = Board::new("listen");
    let progress = Progress {
        stage: "10/s".into(),
        sent: 5,
        ..Progress::default()
    };
    board.progress(&progress);
    assert_eq!(shown(&board)["trade"]["sent"], 5);
    assert_eq!(shown(&board)["spoiled"], Value::Null);
}
