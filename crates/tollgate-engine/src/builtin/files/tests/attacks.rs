//! Things put into the sandbox to lead out of it: S-34 and the list B-FP, 6 to 8 and 12.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode, RenameFlags};

use super::{SECRET, World};
use crate::builtin::files::path::RelativePath;
use crate::builtin::files::quota::Quota;
use crate::builtin::files::sandbox::FileSandbox;

#[tokio::test]
async fn b_fp_06_symbolic_links_are_not_followed() {
    let world = World::with_base();
    let base = world.base();
    symlink(world.outside().join("secret.txt"), base.join("file")).unwrap();
    symlink("../outside/secret.txt", base.join("relative")).unwrap();
    symlink(world.outside(), base.join("folder")).unwrap();
    symlink("itself", base.join("itself")).unwrap();
    symlink(world.outside().join("new.txt"), base.join("dangling")).unwrap();
    symlink("/proc/self/root", base.join("magic")).unwrap();
    symlink(world.outside(), base.join("chain0")).unwrap();
    for at in 1..=41 {
        symlink(format!("chain{}", at - 1), base.join(format!("chain{at}"))).unwrap();
    }
    for path in ["file", "relative", "itself", "dangling", "folder", "chain41"] {
        world.check_refused(path, "symbolic link").await;
        assert!(base.join(path).is_symlink(), "{path} is still there");
    }
    for path in ["folder/secret.txt", "folder/new/x", "itself/x", "chain41/secret.txt", "magic/x"] {
        world.check_refused(path, "symbolic links are not followed").await;
    }
}

#[tokio::test]
async fn b_fp_06_links_within_the_sandbox_are_not_followed_either() {
    let world = World::new();
    world.write("real/a", "1").await.unwrap();
    symlink("real", world.base().join("alias")).unwrap();
    world.check_refused("alias/a", "symbolic links are not followed").await;
}

/// Swaps a folder for a link to the outside while files are written to and read from it.
#[test]
fn s_34_b_fp_06_a_folder_swapped_for_a_link_lets_nothing_out_or_in() {
    const SWAPS: usize = 100_000;
    let world = World::with_base();
    let folder = world.base().join("folder");
    let link = world.base().join("link");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("secret.txt"), "inside").unwrap();
    symlink(world.outside(), &link).unwrap();
    let sandbox = FileSandbox::new(world.base(), Quota::DEFAULT);
    let done = Arc::new(AtomicBool::new(false));
    let mut written = 0;
    let mut refused = 0;
    std::thread::scope(|scope| {
        let swapped = Arc::clone(&done);
        scope.spawn(move || {
            for _ in 0..SWAPS {
                rustix::fs::renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
            swapped.store(true, Ordering::Release);
        });
        let path = |text: &str| RelativePath::parse(text).unwrap();
        let new = path("folder/new.txt");
        let deep = path("folder/deep/er/new.txt");
        let secret = path("folder/secret.txt");
        while !done.load(Ordering::Acquire) {
            for path in [&new, &deep] {
                match sandbox.write(path, b"evil") {
                    Ok(_) => written += 1,
                    Err(_) => refused += 1,
                }
            }
            if let Ok(content) = sandbox.read(&secret) {
                assert_eq!(content, "inside");
            }
        }
    });
    world.check_outside();
    assert!(written > 0 && refused > 0, "written {written}, refused {refused}: no race happened");
}

#[tokio::test]
async fn b_fp_07_hard_links_are_neither_read_nor_replaced() {
    let world = World::with_base();
    fs::hard_link(world.outside().join("secret.txt"), world.base().join("a")).unwrap();
    world.check_refused("a", "several hard links").await;
    assert_eq!(fs::read_to_string(world.base().join("a")).unwrap(), SECRET);
}

#[tokio::test]
async fn b_fp_08_files_of_the_system_are_out_of_reach() {
    let world = World::new();
    for path in ["/proc/self/environ", "/proc/self/root", "/dev/zero", "/dev/stdin"] {
        world.check_refused(path, "must be relative").await;
    }
}

#[tokio::test]
async fn b_fp_08_pipes_sockets_devices_and_folders_are_no_files() {
    let world = World::with_base();
    let base = world.base();
    rustix::fs::mknodat(CWD, base.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .unwrap();
    let _listener = UnixListener::bind(base.join("socket")).unwrap();
    fs::create_dir(base.join("folder")).unwrap();
    world.check_refused("pipe", "is not a regular file").await;
    world.check_refused("socket", "is not a regular file").await;
    world.check_refused("folder", "is a folder").await;
    world.check_refused("pipe/x", "is not a folder").await;

    // Making a device needs rights that not every machine gives a test.
    let zero = rustix::fs::makedev(1, 5);
    let device = base.join("zero");
    if rustix::fs::mknodat(CWD, device, FileType::CharacterDevice, Mode::RUSR, zero).is_ok() {
        world.check_refused("zero", "is not a regular file").await;
    }
}

#[tokio::test]
async fn b_fp_12_files_are_private_and_cannot_be_run() {
    let world = World::new();
    world.write("folder/a", "#!/bin/sh\n").await.unwrap();
    let mode =
        |path: &str| fs::metadata(world.base().join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(""), mode("folder"), mode("folder/a")), (0o700, 0o700, 0o600));

    let open = fs::Permissions::from_mode(0o4777);
    fs::set_permissions(world.base().join("folder/a"), open).unwrap();
    world.write("folder/a", "again").await.unwrap();
    assert_eq!(mode("folder/a"), 0o600);
}
