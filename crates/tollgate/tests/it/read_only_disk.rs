//! a file system that becomes read-only under a running gateway.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use tollgate_testkit::skip;

use crate::full_disk::{call, now, wait_for};
use crate::serving::Serving;

/// What is written by tools is on another disk.
fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let files = folder.path().join("files");
    fs::create_dir(&files).unwrap();
    let config = json!({"builtin": {"files": files}, "budget": {"calibrate_interval_s": 0}});
    fs::write(folder.path().join("tollgate.yaml"), config.to_string()).unwrap();
    fs::create_dir(folder.path().join(".tollgate")).unwrap();
    (folder, files)
}

fn write(gateway: &Serving) -> String {
    call(gateway, "write_file", &json!({"path": "a.txt", "content": "x"}))
}

fn assert_written(gateway: &Serving, when: &str) {
    let written = write(gateway);
    assert!(written.contains("\"status\":\"ok\""), "{when}: {written}");
}

/// What changes something is refused, and not done; what only reads goes on.
fn assert_fails_closed(gateway: &Serving, files: &Path) {
    wait_for(gateway, "audit_failing");
    fs::write(files.join("a.txt"), "before").unwrap();
    let refused = write(gateway);
    assert!(refused.contains("the audit trail cannot be written"), "{refused}");
    assert!(refused.contains("the file system may have become read-only"), "{refused}");
    assert_eq!(fs::read_to_string(files.join("a.txt")).unwrap(), "before");
    let read = call(gateway, "roll", &json!({"expression": "1d6"}));
    assert!(read.contains("\"status\":\"ok\""), "reading goes on: {read}");
}

/// `data` is the data directory as this process sees it.
fn assert_trail_is_whole(gateway: &Serving, data: &Path) {
    let token = fs::read_to_string(data.join("admin.token")).unwrap();
    let admin = format!("x-api-key: {}\r\n", token.trim());
    let verified = gateway.ask("GET /api/audit/verify", &admin, "");
    assert!(verified.text.contains("\"ok\":true"), "{}", verified.text);
}

/// The data directory of a gateway in a mount namespace of its own.
fn data_of(gateway: &Serving, folder: &Path) -> PathBuf {
    format!("/proc/{}/root{}/.tollgate", gateway.pid(), folder.display()).into()
}

/// On a real file system, which the kernel makes read-only as it does after an error.
#[test]
fn r_26_a_file_system_that_turns_read_only_refuses_changes_and_loses_nothing() {
    if !skip::require_loop_device() {
        return;
    }
    let (folder, files) = folder();
    let image = folder.path().join("disk.img");
    fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
    let run = |program: &str, words: &[&str]| {
        let ran = Command::new(program).args(words).arg(&image).output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stdout).unwrap())
    };
    assert_eq!(run("mkfs.ext4", &["-q", "-F"]).0, Some(0));
    let start = || {
        let script = "mount -o loop,errors=remount-ro disk.img .tollgate && exec \"$0\" \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script, env!("CARGO_BIN_EXE_tollgate")]);
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        Serving::spawn_gateway(folder.path(), &mut command)
    };
    let gateway = start();
    assert_written(&gateway, "at first");
    let mounts = fs::read_to_string(format!("/proc/{}/mounts", gateway.pid())).unwrap();
    let mount = mounts.lines().find(|line| line.contains("/.tollgate ext4 ")).unwrap();
    let device = mount.split(' ').next().and_then(|it| it.strip_prefix("/dev/")).unwrap();
    fs::write(format!("/sys/fs/ext4/{device}/trigger_fs_error"), "a test\n").unwrap();
    assert_fails_closed(&gateway, &files);
    gateway.terminate();
    // The kernel detaches the disk when the last process of the namespace is gone.
    let began = now();
    while run("losetup", &["-j"]).1.contains("/dev/loop") {
        assert!(began.elapsed() < Duration::from_secs(30), "it is still attached");
        std::thread::sleep(Duration::from_millis(50));
    }
    let repaired = run("fsck.ext4", &["-p"]);
    assert!(matches!(repaired.0, Some(0 | 1)), "{repaired:?}");
    let gateway = start();
    wait_for(&gateway, "ready");
    assert_written(&gateway, "after the repair");
    assert_trail_is_whole(&gateway, &data_of(&gateway, folder.path()));
}

/// Makes a directory read-only for a process, and writable again, while its files are open: no file
/// system that can be had everywhere does that.
struct ReadOnlySwitch {
    library: PathBuf,
    flag: PathBuf,
}

impl ReadOnlySwitch {
    fn build(folder: &Path) -> Self {
        let source = folder.join("read_only.c");
        let library = folder.join("read_only.so");
        fs::write(&source, include_str!("read_only.c")).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).arg("-ldl");
        assert!(compiler.status().unwrap().success());
        Self { library, flag: folder.join("read_only.flag") }
    }

    fn set(&self, is_read_only: bool) {
        if is_read_only {
            fs::write(&self.flag, "").unwrap();
        } else {
            fs::remove_file(&self.flag).unwrap();
        }
    }
}

#[test]
fn r_26_a_data_directory_that_was_read_only_is_used_again_within_five_seconds() {
    if !skip::require_program("cc") {
        return;
    }
    let (folder, files) = folder();
    let switch = ReadOnlySwitch::build(folder.path());
    let data = folder.path().join(".tollgate");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command
        .args(["serve", "--listen", "127.0.0.1:0"])
        .env_clear()
        .envs(tollgate_testkit::coverage_profile())
        .env("LD_PRELOAD", &switch.library)
        .env("READ_ONLY_FOLDER", &data)
        .env("READ_ONLY_FLAG", &switch.flag);
    let gateway = Serving::spawn_gateway(folder.path(), &mut command);
    assert_written(&gateway, "at first");
    for round in 0..3 {
        switch.set(true);
        assert_fails_closed(&gateway, &files);
        switch.set(false);
        let took = wait_for(&gateway, "ready");
        assert!(took <= Duration::from_secs(5), "{round}: {took:?} after it was writable");
        assert_written(&gateway, &format!("after round {round}"));
    }
    assert_trail_is_whole(&gateway, &data);
}
