use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::Store;

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_new_file_is_private_and_keeps_what_was_written() {
    let folder = Folder::new();
    let memory = folder.open();
    say(&memory, &place("waterdeep"), &["a: dragon"]).await;
    for name in ["memory.db", "memory.db-wal", "memory.db-shm"] {
        assert_eq!(mode(&folder.directory.path().join(name)), 0o600, "{name}");
    }
    drop(memory);
    assert_eq!(found(&folder.open(), "waterdeep", "dragon").await, ["dragon"]);
    check(&folder.connect());
}

#[tokio::test]
async fn what_is_acknowledged_is_on_the_disk() {
    let folder = Folder::new();
    let (_memory, sqlite) = folder.both();
    let pragma = |name: &'static str| {
        move |to: &Connection| {
            let select = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
            Ok(to.query_row(&select, [], |row| row.get::<_, String>(0))?)
        }
    };
    assert_eq!(sqlite.writer.write(0, pragma("synchronous")).await.unwrap(), "2");
    assert_eq!(sqlite.writer.write(0, pragma("journal_mode")).await.unwrap(), "wal");
    assert_eq!(sqlite.read(pragma("query_only")).await.unwrap(), "1");
}

#[test]
fn files_of_others_are_refused_and_left_alone() {
    let folder = Folder::new();
    let refused = |why: &str| {
        let before = fs::read(folder.file()).unwrap();
        let said = MemoryStore::open_sqlite(&folder.file()).err().unwrap().to_string();
        assert!(said.contains(why), "{said}");
        assert_eq!(fs::read(folder.file()).unwrap(), before);
    };
    drop(Store::open(&folder.file()).unwrap());
    refused("is the database of another program");
    fs::remove_file(folder.file()).unwrap();
    drop(folder.open());
    assert!(Store::open(&folder.file()).is_err());
    folder.connect().pragma_update(None, "user_version", 9_000).unwrap();
    refused("its format is 9000, this version knows up to 2");
    fs::write(folder.file(), "no database at all".repeat(300)).unwrap();
    refused("it is not a database, or it is damaged");
}

#[tokio::test]
async fn a_backup_is_a_memory_of_its_own() {
    let folder = Folder::new();
    let memory = folder.open();
    say(&memory, &place("waterdeep"), &["a: dragon"]).await;
    let ids = remember(&memory, &place("waterdeep"), &["It rains."]).await;
    memory.keep_vectors("m", vec![(ids[0], vec![1.0, 0.0])]).await.unwrap();
    let copy = folder.directory.path().join("copy's.db");
    memory.backup(&copy).await.unwrap();
    assert_eq!(mode(&copy), 0o600);
    say(&memory, &place("waterdeep"), &["a: dragon after the backup"]).await;
    let restored = MemoryStore::open_sqlite(&copy).unwrap();
    assert_eq!(found(&restored, "waterdeep", "dragon").await, ["dragon"]);
    let near = restored.facts_near(&scope("waterdeep"), &vector("m", &[1.0, 0.0]), 1).await;
    assert_eq!(near.unwrap()[0].0.text, "It rains.");
    say(&restored, &place("waterdeep"), &["a: dragon in the copy"]).await;
    check(&database::connect(&copy).unwrap());

    let before = fs::read(&copy).unwrap();
    let there = memory.backup(&copy).await.unwrap_err().to_string();
    assert!(there.contains("File exists"), "{there}");
    assert_eq!(fs::read(&copy).unwrap(), before);
    let nowhere = memory.backup(Path::new("/nowhere/copy.db")).await.unwrap_err();
    assert!(nowhere.to_string().contains("No such file"), "{nowhere}");
}

/// SQLite takes this limit for the end of the disk.
#[tokio::test]
async fn r_26_a_full_disk_is_told_reading_goes_on_and_writing_again_later() {
    let folder = Folder::new();
    let (memory, sqlite) = folder.both();
    say(&memory, &place("waterdeep"), &["a: dragon"]).await;
    let limit = |pages: u32| {
        sqlite.writer.write(0, move |to| Ok(to.pragma_update(None, "max_page_count", pages)?))
    };
    limit(60).await.unwrap();
    let many = || (0..2_000).map(|at| entry(&format!("a: a dragon, number {at}"), at)).collect();
    let small = || vec![entry("a: one dragon more", 9)];
    for _ in 0..3 {
        let place = place("waterdeep");
        let (full, alone) =
            tokio::join!(memory.append(&place, many()), memory.append(&place, small()));
        let said = full.unwrap_err().to_string();
        assert_eq!(said, "the memory database failed: no space is left on the disk");
        // There was room for one, whoever waited with it.
        assert_eq!(alone.unwrap().len(), 1);
        assert!(!found(&memory, "waterdeep", "dragon").await.is_empty());
    }
    check(&folder.connect());
    limit(1_000_000).await.unwrap();
    memory.append(&place("waterdeep"), many()).await.unwrap();
    assert_eq!(memory.namespaces().await.unwrap()[0].1.entries, 2_004);
    check(&folder.connect());
}
