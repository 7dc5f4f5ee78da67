//! What files of a certificate and a key must be.

use std::fs;
use std::path::Path;

use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;

use super::TlsIdentity;

/// A certificate and its key, in PEM form.
fn pair() -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

/// What is said about these contents, with the files' names shortened.
fn check(cert: &str, key: &str, expected: &str) {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let read = TlsIdentity::read(&file("cert.pem", cert), &file("key.pem", key));
    let message = read.map_or_else(|error| error.to_string(), |_| "good".to_owned());
    let here = format!("{}/", folder.path().display());
    assert_eq!(message.replace(&here, ""), expected);
}

#[test]
fn mistakes_in_the_files_are_told_with_their_names() {
    let (cert, key) = pair();
    let (_, other) = pair();
    check(&cert, &key, "good");
    check(&format!("words before\n{cert}\n{cert}"), &key, "good");
    check("", &key, "`cert.pem` contains no PEM certificate");
    check(&key, &key, "`cert.pem` contains no PEM certificate");
    check(&cert[..cert.len() / 2], &key, "`cert.pem` contains no PEM certificate");
    check(&cert, "", "`key.pem` contains no PEM private key");
    check(&cert, &cert, "`key.pem` contains no PEM private key");
    check(&cert, "\u{0}\u{1}", "`key.pem` contains no PEM private key");
    check(&cert, &other, "the key in `key.pem` does not match the certificate in `cert.pem`");
}

#[test]
fn files_that_cannot_be_read_are_told_with_their_names() {
    let folder = TempDir::new().unwrap();
    let none = folder.path().join("none.pem");
    let said = |path: &Path| TlsIdentity::read(path, &none).err().unwrap().to_string();
    assert!(said(&none).contains("none.pem`: No such file"), "{}", said(&none));
    assert!(said(folder.path()).contains("it is not a regular file"), "{}", said(folder.path()));
}
