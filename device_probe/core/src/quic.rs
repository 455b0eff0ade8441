//! quinn as the probe uses it: its defaults, a self-signed certificate, and no certificate
//! authority, because two phones on a table have none.
//!
//! The peers of an experiment know each other by their TrustChain keys; the certificate protects
//! nothing here, it only makes the handshake cost what it costs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};

use crate::sockets::any_port;

/// Name in the certificate and in the client's hello.
pub const SERVER_NAME: &str = "pocketsim";
/// Application protocol of everything that the probe says over QUIC.
pub const ALPN: &[u8] = b"pocketsim-probe/1";

/// What a serving endpoint needs: a fresh self-signed certificate, quinn's default transport.
pub fn server_config() -> quinn::ServerConfig {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed([SERVER_NAME.to_owned()]).expect("a valid name");
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key.into())
        .expect("a certificate and its own key");
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let tls = QuicServerConfig::try_from(tls).expect("TLS 1.3 has the initial suite");
    quinn::ServerConfig::with_crypto(Arc::new(tls))
}

/// What a dialling endpoint needs: any certificate will do, quinn's default transport.
pub fn client_config() -> quinn::ClientConfig {
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider())))
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let tls = QuicClientConfig::try_from(tls).expect("TLS 1.3 has the initial suite");
    quinn::ClientConfig::new(Arc::new(tls))
}

/// An endpoint that only dials, on a port of the system's choice; call it inside a runtime.
///
/// # Errors
/// When the socket cannot be bound.
pub fn client_endpoint(peer: SocketAddr) -> std::io::Result<quinn::Endpoint> {
    let mut endpoint = quinn::Endpoint::client(any_port(peer.ip()))?;
    endpoint.set_default_client_config(client_config());
    Ok(endpoint)
}

/// Close an endpoint that dialled, and wait until the peer knows or too much time has passed.
pub(crate) async fn farewell(endpoint: &quinn::Endpoint) {
    endpoint.close(0u32.into(), b"");
    let _ = tokio::time::timeout(FAREWELL, endpoint.wait_idle()).await;
}

/// A close is repeated for three probe timeouts (RFC 9000, 10.2); on a table that is 0.1 s.
pub(crate) const FAREWELL: Duration = Duration::from_secs(1);

pub(crate) fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Accepts every certificate, but checks that the peer holds its key, as that is part of the cost.
#[derive(Debug)]
pub(crate) struct AnyCertificate(pub(crate) Arc<rustls::crypto::CryptoProvider>);

impl rustls::client::danger::ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC has no TLS 1.2".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
