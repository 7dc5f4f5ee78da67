//! The program over TLS: with its local CA, and with files of the config.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;

use crate::{tollgate, tollgate_with};

struct Gateway {
    process: Child,
    address: String,
    log: Arc<Mutex<String>>,
}

impl Gateway {
    /// Waits for the line behind the one that says where it is.
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(tollgate_testkit::coverage_profile())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::default());
        let (tell, ready) = std::sync::mpsc::channel();
        let written: Arc<Mutex<String>> = Arc::clone(&log);
        thread::spawn(move || {
            let mut address = None;
            for line in lines.map_while(Result::ok) {
                written.lock().push_str(&format!("{line}\n"));
                let found = line.split_once("ready on https://").map(|(_, it)| it.to_owned());
                address = found.or(address);
                if let Some(address) = address.take_if(|_| line.starts_with("admin: ")) {
                    let _ = tell.send(address);
                }
            }
        });
        let address = ready.recv_timeout(Duration::from_secs(20));
        let address = address.unwrap_or_else(|_| panic!("not ready: {}", log.lock()));
        Self { process, address, log }
    }

    /// The first bytes of an answer to somebody who trusts only this.
    fn ask(&self, trusted: &Path, name: &str) -> std::io::Result<String> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(trusted).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let session = ClientConnection::new(Arc::new(config), name).unwrap();
        let socket = TcpStream::connect(&self.address)?;
        socket.set_read_timeout(Some(Duration::from_secs(20)))?;
        let mut stream = StreamOwned::new(session, socket);
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
        let mut answer = [0; 1024];
        let length = stream.read(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
    }

    /// Until it is so.
    fn wait(&self, what: &str, is: impl Fn() -> bool) {
        for _ in 0..400 {
            if is() {
                return;
            }
            thread::sleep(Duration::from_millis(25));
        }
        panic!("{what}: {}", self.log.lock());
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Writes a certificate for `localhost` and its key.
fn certify(folder: &Path) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    fs::write(folder.join("cert.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
}

#[test]
fn a_local_ca_is_made_once_and_told_how_to_be_trusted() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("tollgate.yaml"), "hosts: [Box.example, \"fe80::7\"]\n").unwrap();
    let gateway = Gateway::start(folder.path(), &["--tls"]);
    let address = gateway.address.clone();
    let ca = folder.path().join(".tollgate/tls/ca.pem");
    let shown = ca.canonicalize().unwrap().display().to_string();
    let export = format!("export NODE_EXTRA_CA_CERTS={shown} SSL_CERT_FILE={shown}");
    gateway.wait("it says how", || gateway.log.lock().contains(&export));
    let token = folder.path().join(".tollgate/admin.token").canonicalize().unwrap();
    let text = format!("admin: https://{address}/ with the token in {}", token.display());
    assert!(gateway.log.lock().contains(&text), "{}", gateway.log.lock());
    for name in ["localhost", "127.0.0.1", "::1", "box.example", "fe80::7"] {
        assert!(gateway.ask(&ca, name).unwrap().starts_with("HTTP/1.1 200"), "{name}");
    }
    gateway.ask(&ca, "evil.example").unwrap_err();

    // Commands find it, and know it by the same CA.
    let listed = tollgate(folder.path(), &["servers", "list", "--json", "--listen", &address]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let keys = tollgate(folder.path(), &["approvals", "list", "--listen", &address]);
    assert_eq!(keys.code, Some(0), "{}", keys.stderr);

    let before = fs::read(&ca).unwrap();
    drop(gateway);
    let again = Gateway::start(folder.path(), &["--tls"]);
    assert_eq!(fs::read(&ca).unwrap(), before, "whoever trusts it goes on to do so");
    assert!(again.ask(&ca, "localhost").unwrap().starts_with("HTTP/1.1 200"));
}

#[test]
fn a_stranger_at_the_address_is_not_told_our_key() {
    let ours = TempDir::new().unwrap();
    let theirs = TempDir::new().unwrap();
    drop(Gateway::start(ours.path(), &["--tls"]));
    let stranger = Gateway::start(theirs.path(), &["--tls"]);
    let asked = tollgate(ours.path(), &["approvals", "list", "--listen", &stranger.address]);
    assert!(asked.stderr.contains("no gateway is running at"), "{}", asked.stderr);
}

#[test]
fn files_of_the_config_are_served_and_read_again_when_they_change() {
    let folder = TempDir::new().unwrap();
    certify(folder.path());
    let config = "tls: { cert: cert.pem, key: key.pem }\n";
    fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let cert = folder.path().join("cert.pem");
    let key = folder.path().join("key.pem");
    assert!(gateway.ask(&cert, "localhost").unwrap().starts_with("HTTP/1.1 200"));
    let listed = tollgate(folder.path(), &["servers", "list", "--listen", &gateway.address]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    assert!(!listed.stderr.contains("warning"), "{}", listed.stderr);

    let old = folder.path().join("old.pem");
    fs::copy(&cert, &old).unwrap();
    let whole = fs::read(&key).unwrap();
    fs::write(&key, "half").unwrap();
    let text = "contains no PEM private key";
    gateway.wait("it says what is wrong", || gateway.log.lock().contains(text));
    assert!(gateway.ask(&old, "localhost").unwrap().starts_with("HTTP/1.1 200"), "the old goes on");
    fs::write(&key, whole).unwrap();
    certify(folder.path());
    gateway.wait("the new one is shown", || gateway.ask(&cert, "localhost").is_ok());
    gateway.ask(&old, "localhost").unwrap_err();
    let reloaded = tollgate(folder.path(), &["reload", "--listen", &gateway.address]);
    assert_eq!(reloaded.code, Some(0), "{}", reloaded.stderr);
}

#[test]
fn nothing_starts_with_files_that_do_not_fit() {
    let folder = TempDir::new().unwrap();
    let serve = |config: &str, arguments: &[&str]| {
        fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
        let all = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
        tollgate_with(folder.path(), &all, &[])
    };
    let files = "tls: { cert: cert.pem, key: key.pem }\n";
    let run = serve(files, &[]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("error: `tls`: cannot read `"), "{}", run.stderr);
    assert!(run.stderr.contains("cert.pem`: No such file"), "{}", run.stderr);
    certify(folder.path());
    let key = fs::read(folder.path().join("key.pem")).unwrap();
    certify(folder.path());
    fs::write(folder.path().join("key.pem"), key).unwrap();
    let run = serve(files, &[]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("key.pem` does not match the certificate in `"), "{}", run.stderr);
    let run = serve(files, &["--tls"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("`--tls` and `tls` exclude each other"), "{}", run.stderr);
}
