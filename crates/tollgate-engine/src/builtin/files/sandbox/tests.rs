//! Files in the making, and what a failing disk sounds like.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::{FileAccessError, SandboxError, TemporaryFile};
use crate::builtin::scratch::ScratchDir;

#[test]
fn b_fp_13_a_file_in_the_making_goes_away_unless_it_is_renamed() {
    let scratch = ScratchDir::new();
    let folder: OwnedFd = std::fs::File::open(scratch.path()).unwrap().into();
    let count = || scratch.path().read_dir().unwrap().count();

    let temporary = TemporaryFile::create(&folder).unwrap().fill(b"half").unwrap();
    assert_eq!(count(), 1);
    drop(temporary);
    assert_eq!(count(), 0);

    std::fs::create_dir(scratch.path().join("in_the_way")).unwrap();
    let temporary = TemporaryFile::create(&folder).unwrap();
    assert_eq!(temporary.rename("in_the_way").unwrap_err(), FileAccessError::Folder);
    assert_eq!(count(), 1);
}

#[test]
fn b_fp_13_a_failing_disk_is_told_in_plain_words() {
    let check = |error: Errno, message: &str| {
        let path = "notes/a".to_owned();
        let told = SandboxError { path, problem: error.into() }.to_string();
        assert_eq!(told, message);
    };
    check(Errno::NOSPC, "`notes/a` could not be written: the disk is full");
    check(Errno::DQUOT, "`notes/a` could not be written: the disk is full");
    check(Errno::ROFS, "`notes/a` could not be written: the disk is read-only");
    check(Errno::ACCESS, "`notes/a` could not be opened: permission denied");
    check(Errno::IO, "`notes/a` could not be used: Input/output error (os error 5)");
}
