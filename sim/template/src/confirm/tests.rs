use super::*;

const ALICE: NodeId = NodeId(0);
const BOB: NodeId = NodeId(1);

#[test]
fn who_gets_no_answer_asks_again_and_what_is_confirmed_is_delivered() {
    let [mut alice, mut bob] = [ALICE, BOB].map(|node| Confirm::new(node, 0, 0.5));
    let trade = AppRequest::Transact {
        peer: BOB,
        payload_bytes: 100,
    };
    let asked = sent(|out| alice.command(trade, 1.0, out));
    assert_eq!(alice.next_timeout(), Some((1.5, "an answer")));
    assert_eq!(sent(|out| alice.handle_timeout(1.5, out)), asked);
    let answer = sent(|out| bob.receive(ALICE, asked, 1.6, out));
    let confirmation = sent(|out| alice.receive(BOB, answer, 1.7, out));
    assert_eq!(alice.next_timeout(), None);
    let mut end = Vec::new();
    bob.receive(ALICE, confirmation, 1.8, &mut end);
    let delivered = Event::new(EventKind::Deliver, asked.1, ALICE, SHORT_BYTES);
    assert_eq!(end, [Output::Observe(delivered)]);
}

/// Returns the one message that is sent, last of all.
fn sent(call: impl FnOnce(&mut OutputsOf<Confirm>)) -> Message {
    let mut out = Vec::new();
    call(&mut out);
    match out.pop() {
        Some(Output::Send { message, .. }) => message,
        other => panic!("{other:?}"),
    }
}
