//! What is kept of the local CA, and what it signs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;
use tollgate_engine::clock::{Clock as _, SystemClock};

use super::{LocalCa, file, key_file};
use crate::command_error::CommandError;

fn obtain(data: &Path) -> Result<LocalCa, CommandError> {
    LocalCa::obtain(data, SystemClock.wall())
}

#[test]
fn the_authority_is_made_once_and_only_for_this_user() {
    let data = TempDir::new().unwrap();
    obtain(data.path()).unwrap();
    let retain = || [file(data.path()), key_file(data.path())].map(|it| fs::read(it).unwrap());
    let first = retain();
    obtain(data.path()).unwrap();
    assert_eq!(retain(), first);
    for name in ["tls", "tls/ca.pem", "tls/ca.key"] {
        let mode = fs::metadata(data.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
    assert_eq!(fs::read_dir(data.path().join("tls")).unwrap().count(), 2, "nothing beside them");
}

#[test]
fn names_and_addresses_are_signed_for_and_nonsense_is_told() {
    let data = TempDir::new().unwrap();
    let authority = obtain(data.path()).unwrap();
    let sign = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|&it| it.to_owned()).collect();
        authority.sign(&names, SystemClock.wall()).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(sign(&["localhost", "127.0.0.1", "[::1]", "my_host.example"]), Ok(()));
    let told = sign(&["l\u{f6}calhost"]).unwrap_err();
    assert!(told.contains("cannot create a certificate for l\u{f6}calhost"), "{told}");
}

#[test]
fn files_that_do_not_fit_are_told_and_left_alone() {
    let data = TempDir::new().unwrap();
    let check = |expected: &str| {
        let told = obtain(data.path()).err().unwrap().to_string();
        assert!(told.contains(expected), "{told}");
    };
    obtain(data.path()).unwrap();
    let key = fs::read(key_file(data.path())).unwrap();
    fs::write(key_file(data.path()), "half a key").unwrap();
    check("ca.key`: it contains no complete key; delete `ca.key` and `ca.pem`");
    fs::remove_file(key_file(data.path())).unwrap();
    check("ca.pem`: it does not match its key; delete both");
    fs::write(key_file(data.path()), key).unwrap();
    obtain(data.path()).unwrap();
    fs::write(file(data.path()), "").unwrap();
    check("ca.pem`: it does not match its key; delete both");
}
