//! Too much, too fast, too many: S-34 and the list B-FP, 9, 13 and 14.

use std::fs::{self, File};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::World;
use crate::builtin::files::path::RelativePath;
use crate::builtin::files::quota::Quota;
use crate::builtin::files::sandbox::{FileAccessError, FileSandbox};

const MEBIBYTE: usize = 1024 * 1024;

#[tokio::test]
async fn b_fp_09_a_mebibyte_goes_and_one_byte_more_does_not() {
    let world = World::new();
    let most = "x".repeat(MEBIBYTE);
    world.write("a", &most).await.unwrap();
    assert_eq!(world.read("a").await.unwrap().text.len(), MEBIBYTE);

    let message = world.write("a", &format!("{most}x")).await.unwrap_err().message;
    assert!(message.contains("larger than 1048576 bytes"), "{message}");
    assert_eq!(world.read("a").await.unwrap().text.len(), MEBIBYTE);

    File::options().append(true).open(world.base().join("a")).unwrap().write_all(b"x").unwrap();
    let message = world.read("a").await.unwrap_err().message;
    assert!(message.contains("larger than 1048576 bytes"), "{message}");
}

#[tokio::test]
async fn b_fp_09_a_sparse_giant_is_not_read() {
    let world = World::with_base();
    let file = File::create(world.base().join("giant")).unwrap();
    if file.set_len(1 << 40).is_err() {
        return; // This file system knows no files of that size.
    }
    let message = world.read("giant").await.unwrap_err().message;
    assert!(message.contains("larger than 1048576 bytes"), "{message}");
}

#[test]
fn b_fp_09_a_file_that_grows_while_read_is_cut_off() {
    const MAX_BYTES: usize = 64 * 1024;
    let world = World::with_base();
    let quota = Quota { file_bytes: MAX_BYTES as u64, ..Quota::DEFAULT };
    let sandbox = FileSandbox::new(world.base(), quota);
    let path = RelativePath::parse("grows").unwrap();
    let done = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let stop = Arc::clone(&done);
        let place = world.base().join("grows");
        fs::write(&place, "").unwrap();
        scope.spawn(move || {
            while !stop.load(Ordering::Acquire) {
                let mut file = File::create(&place).unwrap();
                for _ in 0..20 {
                    file.write_all(&[b'x'; 4096]).unwrap();
                }
            }
        });
        for _ in 0..500 {
            match sandbox.read(&path) {
                Ok(content) => assert!(content.len() <= MAX_BYTES),
                Err(error) => {
                    assert_eq!(error.problem, FileAccessError::TooLarge { most: MAX_BYTES as u64 })
                }
            }
        }
        done.store(true, Ordering::Release);
    });
}

#[tokio::test]
async fn b_fp_13_the_sandbox_holds_only_so_many_bytes() {
    let world = World::with(Quota { file_bytes: 10, all_bytes: 25, files: 100 });
    world.write("a", "0123456789").await.unwrap();
    world.write("b", "0123456789").await.unwrap();
    let message = world.write("c", "012345").await.unwrap_err().message;
    assert!(message.contains("at most 25 bytes in all files"), "{message}");
    assert!(!world.base().join("c").exists());
    world.write("c", "01234").await.unwrap();
    world.write("a", "").await.unwrap();
    world.write("d", "0123456789").await.unwrap();
    assert!(world.write("e", "0").await.is_err());
    fs::remove_file(world.base().join("b")).unwrap();
    world.write("e", "0").await.unwrap();
}

#[tokio::test]
async fn b_fp_13_the_sandbox_holds_only_so_many_files_and_folders() {
    let world = World::with(Quota { file_bytes: 10, all_bytes: 100, files: 4 });
    world.write("x/y/a", "1").await.unwrap();
    let message = world.write("z/b", "1").await.unwrap_err().message;
    assert!(message.contains("at most 4 files and folders"), "{message}");
    assert!(!world.base().join("z").exists(), "nothing is made for a write that is refused");
    world.write("x/b", "1").await.unwrap();
    assert!(world.write("c", "1").await.is_err());
    world.write("x/b", "22").await.unwrap();
}

#[tokio::test]
async fn b_fp_13_what_others_put_there_counts_and_can_be_made_smaller() {
    let world = World::with(Quota { file_bytes: 50, all_bytes: 20, files: 100 });
    fs::create_dir_all(world.base().join("deep/er")).unwrap();
    fs::write(world.base().join("deep/er/a"), "x".repeat(40)).unwrap();
    assert!(world.write("b", "1").await.is_err());
    world.write("deep/er/a", &"x".repeat(30)).await.unwrap();
    assert!(world.write("b", "1").await.is_err());
    world.write("deep/er/a", "x").await.unwrap();
    world.write("b", "1").await.unwrap();
}

#[tokio::test]
async fn b_fp_13_a_refused_write_leaves_nothing_behind() {
    let world = World::with_base();
    fs::create_dir(world.base().join("folder")).unwrap();
    assert!(world.write("folder", "1").await.is_err());
    assert!(world.write("folder/a/../b", "1").await.is_err());
    assert_eq!(world.base().read_dir().unwrap().count(), 1);
    assert_eq!(world.base().join("folder").read_dir().unwrap().count(), 0);
}

#[test]
fn b_fp_14_of_two_writers_one_whole_content_wins() {
    const ROUNDS: usize = 1_000;
    let world = World::new();
    let sandbox = FileSandbox::new(world.base(), Quota::DEFAULT);
    let path = RelativePath::parse("shared").unwrap();
    let contents = ["a".repeat(8_000), "b".repeat(5_000)];
    sandbox.write(&path, contents[0].as_bytes()).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers = contents.each_ref().map(|content| {
            let sandbox = &sandbox;
            let path = &path;
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    sandbox.write(path, content.as_bytes()).unwrap();
                }
            })
        });
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                assert!(contents.contains(&sandbox.read(&path).unwrap()));
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Release);
    });
    assert_eq!(world.base().read_dir().unwrap().count(), 1);
}
