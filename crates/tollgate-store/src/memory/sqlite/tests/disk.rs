use std::io::Write as _;
use std::process::Command;

use tollgate_core::memory::NewEntry;
use tollgate_testkit::skip;

use super::*;

/// Where a child finds its small disk.
const DISK: &str = "TOLLGATE_MEMORY_DISK";

/// R-26, with a real file system of 4 MiB. The test starts itself again with it; where none can be
/// made, a limit of SQLite's stands for it in another test.
#[test]
fn r_26_a_disk_that_is_really_full_loses_nothing() {
    if !skip::require_tmpfs() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let name = "memory::sqlite::tests::disk::inside";
    let script =
        format!("mount -t tmpfs -o size=4m none \"$1\" && exec \"$2\" --exact {name} --nocapture");
    let run = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", &script, "sh"])
        .arg(scratch.path())
        .arg(std::env::current_exe().unwrap())
        .env(DISK, scratch.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && text.contains("it was full"), "{text}\n{errors}");
}

fn some(round: u64) -> Vec<NewEntry> {
    (0..50).map(|at| entry(&format!("s{round} | a: a dragon, number {round}.{at}"), at)).collect()
}

/// Does nothing unless it was started by the test above.
#[tokio::test]
async fn inside() {
    let Some(disk) = std::env::var_os(DISK).map(PathBuf::from) else { return };
    let ballast = disk.join("ballast");
    fs::write(&ballast, vec![1; 1 << 20]).unwrap();
    let file = disk.join("memory.db");
    let memory = MemoryStore::open_sqlite(&file).unwrap();
    let mut acknowledged = 0;
    for round in 0_u64.. {
        match memory.append(&place("waterdeep"), some(round)).await {
            Ok(_) => acknowledged += 50,
            Err(trouble) => {
                let said = trouble.to_string();
                assert_eq!(said, "the memory database failed: no space is left on the disk");
                break;
            }
        }
    }
    assert!(acknowledged > 1_000, "{acknowledged}");
    let count = async || memory.namespaces().await.unwrap()[0].1.entries;
    assert_eq!(count().await, acknowledged);
    assert_eq!(found(&memory, "waterdeep", "dragon").await.len(), 10);
    memory.append(&place("waterdeep"), some(1_000)).await.unwrap_err();
    fs::remove_file(&ballast).unwrap();
    memory.append(&place("waterdeep"), some(2_000)).await.unwrap();
    assert_eq!(count().await, acknowledged + 50);
    drop(memory);
    check(&database::connect(&file).unwrap());
    let memory = MemoryStore::open_sqlite(&file).unwrap();
    assert_eq!(memory.namespaces().await.unwrap()[0].1.entries, acknowledged + 50);
    std::io::stdout().lock().write_all(b"it was full\n").unwrap();
}
