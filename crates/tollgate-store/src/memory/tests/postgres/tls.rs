//! TLS to the server, and whether it is the one that is meant.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tollgate_testkit::postgres::{PostgresBuild, PostgresCluster};

use super::together::first_answer;
use crate::memory::{MemoryError, MemoryStore, PostgresAddressError};

/// Who says of a server that it is `localhost`.
fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A server that takes nobody who does not encrypt, and who vouches for it.
fn encrypted() -> (PostgresCluster, String) {
    let authority = authority();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let mut cluster = PostgresCluster::start(PostgresBuild::Plain);
    cluster.database("memory");
    cluster.stop();
    cluster.put("server.crt", &certificate.pem());
    cluster.put("server.key", &key.serialize_pem());
    cluster.put("pg_hba.conf", "hostssl all all 127.0.0.1/32 trust\n");
    cluster.set("ssl=on");
    cluster.resume();
    (cluster, authority.pem())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_proven_where_that_was_asked_for() {
    let (cluster, trusted) = encrypted();
    let folder = tempfile::tempdir().unwrap();
    let [right, wrong] = ["right", "wrong"].map(|name| folder.path().join(name));
    fs::write(&right, trusted).unwrap();
    fs::write(&wrong, authority().pem()).unwrap();
    let url = |host: &str, options: &str| {
        format!("postgres://gateway@{host}:{}/memory?{options}", cluster.port())
    };
    let proven = |host: &str, roots: &Path| {
        url(host, &format!("sslmode=verify-full&sslrootcert={}", roots.display()))
    };
    for address in [
        url("127.0.0.1", ""),
        url("127.0.0.1", "sslmode=prefer"),
        url("127.0.0.1", "sslmode=require"),
        proven("localhost", &right),
    ] {
        assert_eq!(first_answer(&address).await, Ok(()), "{address}");
    }
    for address in [
        url("127.0.0.1", "sslmode=disable"),
        proven("localhost", &wrong),
        proven("127.0.0.1", &right),
        url("localhost", "sslmode=verify-full"),
    ] {
        let error = first_answer(&address).await.unwrap_err();
        assert!(matches!(error, MemoryError::Away(_)), "{address}: {error:?}");
    }
    let none = folder.path().join("none");
    let refused = MemoryStore::connect_postgres(&proven("localhost", &none)).err().unwrap();
    assert!(matches!(refused, PostgresAddressError::Roots { .. }), "{refused}");
}
