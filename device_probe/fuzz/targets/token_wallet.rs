//! A wallet without its check: what is read is written back as it was, and a client that is made of
//! it can be used.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_probe_core::tokens::wallet_file::WalletFile;
use pocketsim_protocols::contract::NodeId;
use pocketsim_protocols::crypto::{Counted, Crypto};
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::token::{Client, Handshake, Intent, Signer, Work};

fuzz_target!(|bytes: &[u8]| {
    let Ok(wallet) = WalletFile::decode_body(bytes) else {
        return;
    };
    assert_eq!(wallet.body(), bytes);
    let signer = Signer::new(Counted::new(1, NodeId(0)), [0; 32]);
    let client = Client::restore(signer, Vec::new(), Handshake::Challenge, wallet.state);
    if let Ok(client) = client {
        use_up(client);
    }
});

fn use_up(mut client: Client<Counted>) {
    let mut work = Work::new();
    let worth_cents = client.wallet().held_cents();
    let payee =
        PublicKey(*b"LibNaCLPK:0000000000000000000000000000000000000000000000000000000000000000");
    for challenge in [None, Some([1; 16])] {
        // The smallest that can be paid.
        if let Err(unpayable) = client.pay(1, payee, challenge, &mut work) {
            let cents = unpayable.nearest_above_cents.unwrap_or(0);
            let _ = client.pay(cents, payee, challenge, &mut work);
        }
    }
    for serial in client.wallet().to_submit() {
        client.submit(&serial, Intent::Redeem, [2; 16], &mut work);
    }
    assert!(client.wallet().held_cents() <= worth_cents);
    client.resubmissions();
}
