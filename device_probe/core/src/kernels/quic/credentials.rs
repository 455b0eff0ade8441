//! TLS for the handshake's steps: both ends prove an Ed25519 key, as nodes of iroh do to each other.
//!
//! Unlike [`crate::quic`], where only the server has a certificate. Made once for a measurement, as
//! an app makes its key once.

use std::sync::Arc;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};

use crate::quic::{provider, AnyCertificate, ALPN, SERVER_NAME};

/// The server's side, which asks for a certificate.
pub(super) fn server_config() -> quinn::ServerConfig {
    let (certificate, key) = identity();
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has TLS 1.3")
        .with_client_cert_verifier(Arc::new(AnyClient(AnyCertificate(provider()))))
        .with_single_cert(vec![certificate], key)
        .expect("a certificate and its own key");
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let tls = QuicServerConfig::try_from(tls).expect("TLS 1.3 has the initial suite");
    quinn::ServerConfig::with_crypto(Arc::new(tls))
}

/// The client's side; without session tickets, so that every handshake is a full one.
pub(super) fn client_config() -> quinn::ClientConfig {
    let (certificate, key) = identity();
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider())))
        .with_client_auth_cert(vec![certificate], key)
        .expect("a certificate and its own key");
    tls.alpn_protocols = vec![ALPN.to_vec()];
    tls.resumption = Resumption::disabled();
    let tls = QuicClientConfig::try_from(tls).expect("TLS 1.3 has the initial suite");
    quinn::ClientConfig::new(Arc::new(tls))
}

/// A new Ed25519 key and a certificate that it signed for itself.
fn identity() -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("ring has Ed25519");
    let parameters = rcgen::CertificateParams::new([SERVER_NAME.to_owned()]).expect("a valid name");
    let certificate = parameters.self_signed(&key).expect("the key can sign");
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    (certificate.der().clone(), key.into())
}

/// Wants a certificate, takes any, and checks that the client holds its key.
#[derive(Debug)]
struct AnyClient(AnyCertificate);

impl ClientCertVerifier for AnyClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        use rustls::client::danger::ServerCertVerifier;
        self.0
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        use rustls::client::danger::ServerCertVerifier;
        self.0
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        use rustls::client::danger::ServerCertVerifier;
        self.0.supported_verify_schemes()
    }
}
