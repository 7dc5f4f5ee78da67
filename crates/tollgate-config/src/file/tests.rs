//! Files that are links, read only, changed meanwhile, or written by two at once.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::{ConfigFileSnapshot, ConfigWriteError, create};

#[test]
fn what_was_read_is_replaced_whole_with_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.yaml");
    fs::write(&path, "\u{feff}a: 1\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let read = ConfigFileSnapshot::read(&path).unwrap();
    assert_eq!(read.text, "a: 1\n");
    let after = read.write("a: 2\n").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "\u{feff}a: 2\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(ConfigFileSnapshot::read(&path).unwrap(), after);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn a_link_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("real.yaml");
    let link = folder.path().join("t.yaml");
    fs::write(&target, "a: 1\n").unwrap();
    symlink("real.yaml", &link).unwrap();
    ConfigFileSnapshot::read(&link).unwrap().write("a: 2\n").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&target).unwrap(), "a: 2\n");
}

#[test]
fn b_cf_11_what_changed_meanwhile_or_may_not_be_written_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.yaml");
    fs::write(&path, "a: 1\n").unwrap();
    let read = ConfigFileSnapshot::read(&path).unwrap();
    fs::write(&path, "a: 3\n").unwrap();
    assert!(matches!(read.write("a: 2\n"), Err(ConfigWriteError::Changed(_))));
    assert_eq!(fs::read_to_string(&path).unwrap(), "a: 3\n");
    let read = ConfigFileSnapshot::read(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    assert!(matches!(read.write("a: 2\n"), Err(ConfigWriteError::ReadOnly { .. })));
    fs::remove_file(&path).unwrap();
    assert!(read.write("a: 2\n").is_err());
    fs::create_dir(&path).unwrap();
    assert!(read.write("a: 2\n").is_err());
    assert!(ConfigFileSnapshot::read(&path).is_err());
    assert!(matches!(create(&path, "a"), Err(ConfigWriteError::Changed(_))));
}

#[test]
fn b_me_6_of_many_who_write_at_once_one_does_and_the_others_hear_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.yaml");
    fs::write(&path, "a: 0\n").unwrap();
    let read = ConfigFileSnapshot::read(&path).unwrap();
    let wrote = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|number| {
                let read = &read;
                scope.spawn(move || read.write(&format!("a: {number}{}\n", "x".repeat(5_000))))
            })
            .collect();
        writers.into_iter().map(|it| it.join().unwrap()).filter(Result::is_ok).count()
    });
    assert_eq!(wrote, 1);
    assert_eq!(fs::read_to_string(&path).unwrap().len(), 5_005);
}

#[test]
fn a_new_file_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.yaml");
    create(&path, "a: 1\n").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
