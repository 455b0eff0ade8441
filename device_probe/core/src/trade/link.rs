//! The link that a listener shows, as text or as a QR code, and a dialler reads.

use std::fmt;

use super::ports::PORT_MAX;

/// `pocketsim-probe://trade/HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Name or address; an IPv6 address without its brackets.
    pub host: String,
    /// The control port.
    pub port: u16,
}

/// Why a text is not a link, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLink(String);

impl fmt::Display for BadLink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for BadLink {}

impl fmt::Display for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        match host.contains(':') {
            true => write!(formatter, "{LINK_PREFIX}[{host}]:{port}"),
            false => write!(formatter, "{LINK_PREFIX}{host}:{port}"),
        }
    }
}

impl std::str::FromStr for Link {
    type Err = BadLink;

    /// A link, or only its `HOST:PORT`, or only a host: the port is then [`DEFAULT_PORT`].
    fn from_str(text: &str) -> Result<Self, BadLink> {
        let address = text.trim();
        let address = address.strip_prefix(LINK_PREFIX).unwrap_or(address);
        let (host, port) = split(address)?;
        let named = !host.is_empty() && host.len() <= HOST_BYTES_MAX && host.chars().all(in_hosts);
        let port = match port {
            None => DEFAULT_PORT,
            Some(port) => port.parse().map_err(|_| bad_port(port))?,
        };
        match named {
            true if (1..=PORT_MAX).contains(&port) => Ok(Self {
                host: host.to_owned(),
                port,
            }),
            true => Err(bad_port(&port.to_string())),
            false => Err(BadLink(format!(
                "{text:?} is neither HOST:PORT nor {LINK_PREFIX}HOST:PORT"
            ))),
        }
    }
}

/// Host and port; only an address in brackets, or one without a port, has several colons.
fn split(address: &str) -> Result<(&str, Option<&str>), BadLink> {
    if let Some(rest) = address.strip_prefix('[') {
        let closed = || BadLink(format!("{address:?}: the bracket is not closed"));
        let (host, rest) = rest.split_once(']').ok_or_else(closed)?;
        return match rest.strip_prefix(':') {
            None if !rest.is_empty() => Err(BadLink(format!("{address:?}: {rest:?} after ]"))),
            port => Ok((host, port)),
        };
    }
    match address.split_once(':') {
        Some((_, port)) if port.contains(':') => Ok((address, None)),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((address, None)),
    }
}

fn in_hosts(character: char) -> bool {
    character.is_ascii_alphanumeric() || ".-_:%".contains(character)
}

fn bad_port(port: &str) -> BadLink {
    BadLink(format!(
        "port {port} is not from 1 to {PORT_MAX}: two more ports follow it"
    ))
}

/// The app is opened by this.
pub const LINK_PREFIX: &str = "pocketsim-probe://trade/";
/// The port of a listener that was not told another.
pub const DEFAULT_PORT: u16 = 4747;
/// The longest name in the domain system (RFC 1035, 2.3.4).
const HOST_BYTES_MAX: usize = 255;
