//! The link of a listener.

use pocketsim_probe_core::trade::link::{Link, DEFAULT_PORT, LINK_PREFIX};
use proptest::prelude::*;

fn link(host: &str, port: u16) -> Link {
    Link {
        host: host.to_owned(),
        port,
    }
}

#[test]
fn links_and_addresses_are_read() {
    for (text, expected) in [
        (
            "pocketsim-probe://trade/192.0.2.7:4747",
            link("192.0.2.7", 4747),
        ),
        (
            "pocketsim-probe://trade/[2001:db8::7]:9",
            link("2001:db8::7", 9),
        ),
        ("phone.example:80", link("phone.example", 80)),
        (" phone.example\n", link("phone.example", DEFAULT_PORT)),
        ("2001:db8::7", link("2001:db8::7", DEFAULT_PORT)),
        ("[2001:db8::7]", link("2001:db8::7", DEFAULT_PORT)),
    ] {
        assert_eq!(text.parse(), Ok(expected), "{text}");
    }
}

#[test]
fn others_are_refused_with_the_reason() {
    for (text, reason) in [
        ("", "neither"),
        ("host:0", "port 0"),
        ("host:65534", "two more ports"),
        ("host:http", "port http"),
        ("[::1", "bracket"),
        ("[::1]x", "after ]"),
        ("a b:1", "neither"),
        ("https://example/1", "port //example/1"),
        ("pocketsim-probe://trade/", "neither"),
    ] {
        let error = text.parse::<Link>().expect_err(text).to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_shown_is_read(host in "[a-z][a-z0-9.-]{0,40}", port in 1u16..=65_533) {
        let shown = link(&host, port).to_string();
        prop_assert!(shown.starts_with(LINK_PREFIX));
        prop_assert_eq!(shown.parse(), Ok(link(&host, port)));
    }

    #[test]
    fn no_text_is_too_strange(text in ".{0,300}") {
        let _ = text.parse::<Link>();
    }
}
