//! The tables of transitions: what holds for each, and that the document draws them as they are.

use std::collections::BTreeSet;
use std::fmt::Debug;

use pocketsim_protocols::payment::{PayeeEvent, PayeeState, PayerEvent, PayerState, PAYEE, PAYER};
use pocketsim_protocols::transitions::Table;
use pocketsim_protocols::transport::quic::{ConnectionEvent, ConnectionState, CONNECTION};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/states.md");

/// Each diagram with the heading that it stands below.
fn diagrams() -> [(&'static str, String); 3] {
    [
        (
            "## Payer",
            PAYER.diagram(PayerState::name, PayerEvent::name),
        ),
        (
            "## Payee",
            PAYEE.diagram(PayeeState::name, PayeeEvent::name),
        ),
        (
            "## QUIC connection",
            CONNECTION.diagram(ConnectionState::name, ConnectionEvent::name),
        ),
    ]
}

/// `document` with `diagram` in the first block of Mermaid below `heading`.
fn drawn(document: &str, heading: &str, diagram: &str) -> String {
    const OPEN: &str = "```mermaid\n";
    let heading_at = document
        .find(heading)
        .expect("the document has the heading");
    let open = document[heading_at..]
        .find(OPEN)
        .expect("and a block below it");
    let start = heading_at + open + OPEN.len();
    let length = document[start..].find("```").expect("that ends");
    let (before, after) = (&document[..start], &document[start + length..]);
    format!("{before}{diagram}{after}")
}

#[test]
fn the_document_draws_the_tables() {
    let written = std::fs::read_to_string(DOCUMENT).expect("the document is there");
    let mut due = written.clone();
    for (heading, diagram) in diagrams() {
        due = drawn(&due, heading, &diagram);
    }
    if std::env::var_os("REWRITE_GOLDEN").is_some() {
        std::fs::write(DOCUMENT, &due).expect("the document can be written");
    }
    let now = std::fs::read_to_string(DOCUMENT).expect("the document is there");
    assert_eq!(
        now, due,
        "run this test with REWRITE_GOLDEN=1 and look at the difference"
    );
}

/// Every state can be reached and left for an end, and no event leads from one state to two.
fn check<S: Copy + Debug + Ord, E: Copy + Debug + Ord>(table: Table<S, E>, all: &[S]) {
    let causes: BTreeSet<_> = table.rows().iter().map(|row| (row.0, row.1)).collect();
    assert_eq!(
        causes.len(),
        table.rows().len(),
        "an event leads to two states"
    );
    for (from, event, to) in table.rows() {
        assert_eq!(table.next(*from, *event), *to);
    }
    let mut reached = BTreeSet::from([None]);
    let mut ending: BTreeSet<Option<S>> = table.ends().into_iter().map(Some).collect();
    assert!(!ending.is_empty());
    for _ in all {
        for (from, _, to) in table.rows() {
            if reached.contains(from) {
                reached.insert(Some(*to));
            }
            if ending.contains(&Some(*to)) {
                ending.insert(*from);
            }
        }
    }
    let due: BTreeSet<Option<S>> = all.iter().copied().map(Some).chain([None]).collect();
    assert_eq!(reached, due, "what can be reached");
    assert_eq!(ending, due, "what can end");
}

#[test]
fn every_state_is_reached_and_can_end() {
    check(PAYER, PayerState::ALL);
    check(PAYEE, PayeeState::ALL);
    check(CONNECTION, ConnectionState::ALL);
}

#[test]
#[should_panic(expected = "Decline from Some(Signed)")]
fn what_the_table_does_not_have_cannot_happen() {
    PAYER.next(Some(PayerState::Signed), PayerEvent::Decline);
}
