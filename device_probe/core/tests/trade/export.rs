//! Events as files.

use pocketsim_probe_core::trade::export::{write_json_lines, Export};
use pocketsim_probe_core::trade::TradeError;
use pocketsim_protocols::contract::Reason;

use super::node::{only, pair};

#[test]
fn the_csv_has_the_app_s_columns_and_operations() {
    let (dialler, listener, peer, _) = pair();
    let proposal = only(dialler.propose(peer, 100)).bytes;
    let answer = only(listener.receive(&proposal).expect("of the dialler")).bytes;
    dialler.receive(&answer).expect("of the listener");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.csv");
    let export = Export::to(Some(&path), "table_7").expect("possible");
    let partial = folder.path().join("events.csv.partial");
    assert!(partial.exists(), "refused at the start, not at the end");
    export.flush(&dialler).expect("written");
    let early = std::fs::read_to_string(&partial).expect("there");
    assert_eq!(
        early.lines().count(),
        4,
        "a killed trade has left its events"
    );
    assert!(!path.exists());
    export.finish(&dialler).expect("written");
    let text = std::fs::read_to_string(&path).expect("there");
    let rows: Vec<Vec<&str>> = text.lines().map(|row| row.split(',').collect()).collect();
    let header = "operation,timestamp,mode,node_id,message_id,message_size,tag,sequence_number";
    assert_eq!(rows[0].join(","), header);
    let operations: Vec<&str> = rows[1..].iter().map(|row| row[0]).collect();
    assert_eq!(
        operations,
        ["send_benchmark_sc", "block_received_back", "store_block_e"]
    );
    assert_eq!(
        rows[1][2..],
        ["UDP", "1", "4294967296", "420", "table_7#0", "0"]
    );
    assert!(
        rows[1][1].ends_with('Z') && rows[1][1].len() == 27,
        "{}",
        rows[1][1]
    );
    let files = std::fs::read_dir(folder.path()).expect("it").count();
    assert_eq!(files, 1, "nothing partial is left");
}

#[test]
fn each_flush_adds_what_is_new_and_nothing_empty_is_left() {
    let (dialler, listener, peer, _) = pair();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.jsonl");
    drop(Export::to(Some(&path), "a").expect("possible"));
    assert_eq!(std::fs::read_dir(folder.path()).expect("it").count(), 0);
    let export = Export::to(Some(&path), "a").expect("possible");
    for _ in 0..3 {
        let proposal = only(dialler.propose(peer, 100)).bytes;
        let answer = only(listener.receive(&proposal).expect("of the dialler")).bytes;
        export.flush(&dialler).expect("written");
        dialler.receive(&answer).expect("of the listener");
    }
    export.finish(&dialler).expect("written");
    let mut whole = Vec::new();
    dialler
        .with_log(|log| write_json_lines(log, &mut whole))
        .expect("memory");
    assert_eq!(std::fs::read(&path).expect("there"), whole);
}

#[test]
fn a_repetition_that_was_stopped_says_so() {
    let (dialler, _, peer, _) = pair();
    dialler.propose(peer, 100);
    dialler.mark_stopped(0);
    let mut text = Vec::new();
    let export = Export::to(None, "probe").expect("possible");
    dialler
        .with_log(|log| export.write_csv(log, &mut text))
        .expect("memory");
    let text = String::from_utf8(text).expect("text");
    assert!(text.contains(",probe_stopped#0,"), "{text}");
}

#[test]
fn json_lines_have_the_columns_of_a_trace() {
    let (dialler, listener, peer, _) = pair();
    let letter = only(dialler.propose(peer, 100));
    dialler.undelivered(&letter, Reason::LinkLoss);
    listener.receive(&letter.bytes).expect("of the dialler");
    let rows = |node: &pocketsim_probe_core::trade::node::Node| {
        let mut text = Vec::new();
        node.with_log(|log| write_json_lines(log, &mut text))
            .expect("memory");
        let text = String::from_utf8(text).expect("text");
        let row = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("JSON");
        text.lines().map(row).collect::<Vec<_>>()
    };
    let ours = rows(&dialler);
    let mut columns: Vec<&String> = ours[0].as_object().expect("an object").keys().collect();
    columns.sort_unstable();
    let expected = [
        "kind",
        "logged",
        "message_id",
        "message_size",
        "node",
        "peer",
        "reason",
        "repetition",
        "time_s",
    ];
    assert_eq!(columns, expected);
    assert_eq!(ours[0]["reason"], serde_json::Value::Null);
    assert_eq!(
        (&ours[1]["kind"], &ours[1]["reason"]),
        (&"lose".into(), &"link_loss".into())
    );
    assert_eq!((&ours[0]["node"], &ours[0]["peer"]), (&1.into(), &0.into()));
    let theirs = rows(&listener);
    assert_eq!(
        (&theirs[0]["node"], &theirs[0]["peer"]),
        (&0.into(), &1.into())
    );
    assert_eq!(theirs[1]["kind"], "store_peer");
    assert!(ours[0]["time_s"].as_f64().expect("a number") >= 0.0);
}

#[test]
fn impossible_outputs_are_refused_before_anything_is_done() {
    let refused =
        |path: &str, label: &str| match Export::to(Some(std::path::Path::new(path)), label) {
            Err(TradeError::Option(option, reason)) => (option, reason),
            other => panic!("{other:?}"),
        };
    assert_eq!(refused("events.parquet", "a").0, "output");
    assert!(refused("no/such/folder/events.csv", "a")
        .1
        .contains("no/such/folder"));
    let folder = tempfile::tempdir().expect("a folder");
    let taken = folder.path().join("events.csv.partial");
    std::fs::create_dir(&taken).expect("a folder in its place");
    let path = folder.path().join("events.csv");
    assert_eq!(refused(path.to_str().expect("text"), "a").0, "output");
    assert_eq!(refused("events.csv", "a,b").0, "label");
    assert_eq!(refused("events.csv", "").0, "label");
}

#[test]
fn a_folder_or_a_link_to_nothing_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let [taken, link] = ["taken.csv", "link.csv"].map(|name| folder.path().join(name));
    std::fs::create_dir(&taken).expect("a folder in its place");
    std::os::unix::fs::symlink(folder.path().join("nothing"), &link).expect("a link");
    for (path, said) in [(&taken, "a folder"), (&link, "a symbolic link to nothing")] {
        match Export::to(Some(path), "a") {
            Err(TradeError::Option("output", reason)) => assert!(reason.contains(said), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
    let left = std::fs::read_dir(folder.path()).expect("it").count();
    assert_eq!(left, 2, "nothing partial was begun");
}

#[test]
fn events_go_through_links_and_into_pipes_and_leave_them_there() {
    let (dialler, _, peer, _) = pair();
    dialler.propose(peer, 100);
    let folder = tempfile::tempdir().expect("a folder");
    let [file, link, pipe] = ["file", "link.csv", "pipe.csv"].map(|name| folder.path().join(name));
    std::fs::write(&file, "old").expect("written");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let export = Export::to(Some(&link), "a").expect("possible");
    assert!(
        folder.path().join("file.partial").exists(),
        "where it will be renamed"
    );
    export.finish(&dialler).expect("written");
    assert!(link.is_symlink());
    let text = std::fs::read_to_string(&file).expect("there");
    assert_eq!(text.lines().count(), 2);
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("a command").success());
    let from = pipe.clone();
    let reader = std::thread::spawn(move || std::fs::read_to_string(from).expect("a pipe"));
    let export = Export::to(Some(&pipe), "a").expect("possible");
    export.finish(&dialler).expect("written");
    assert_eq!(reader.join().expect("no panic").lines().count(), 2);
    assert!(!pipe.is_file() && pipe.exists());
    let left = std::fs::read_dir(folder.path()).expect("it").count();
    assert_eq!(left, 3, "nothing partial is left");
}
