//! One cluster for all tests that run at about the same time, in however many processes, and a
//! database of its own for each of them. To start a cluster for each would take most of the time.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{PostgresBuild, PostgresCluster, wait_until};

/// An empty database, gone when this is dropped.
#[derive(Debug)]
pub struct TestDatabase {
    cluster: &'static PostgresCluster,
    name: String,
    pub url: String,
}

/// So long a shared cluster waits for the next test.
const LINGER_SECONDS: u32 = 10;

impl TestDatabase {
    /// # Panics
    /// When PostgreSQL cannot be installed or started.
    pub fn new(build: PostgresBuild) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{number}", std::process::id());
        let cluster = cluster(build);
        let url = cluster.database(&name);
        Self { cluster, name, url }
    }

    /// As the administrator.
    pub fn run(&self, statement: &str) -> String {
        self.cluster.run(&self.name, statement)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        self.cluster.run("postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

fn cluster(build: PostgresBuild) -> &'static PostgresCluster {
    static PLAIN: OnceLock<PostgresCluster> = OnceLock::new();
    static WITH_VECTORS: OnceLock<PostgresCluster> = OnceLock::new();
    match build {
        PostgresBuild::Plain => PLAIN.get_or_init(|| found_or_started(build, ".postgres-plain")),
        PostgresBuild::WithVectors => {
            WITH_VECTORS.get_or_init(|| found_or_started(build, ".postgres-vectors"))
        }
    }
}

/// A file beside the tests says where it is, and is locked by whoever looks.
fn found_or_started(build: PostgresBuild, file: &str) -> PostgresCluster {
    let own = std::env::current_exe().expect("a test has an executable");
    let file = own.parent().expect("an executable lies in a folder").join(file);
    let file = File::options().read(true).write(true).create(true).truncate(false).open(file);
    let mut file = file.expect("a file beside the tests");
    file.lock().expect("one test at a time looks for the cluster");
    let mut place = String::new();
    file.read_to_string(&mut place).expect("a small file");
    if let Some(cluster) = find_running(&place) {
        return cluster;
    }
    let mut cluster = PostgresCluster::create(build);
    cluster.keep(LINGER_SECONDS);
    cluster.begin();
    cluster.set_up();
    let folder = cluster.folder.display();
    let programs = cluster.programs.display();
    let place = format!("{}\n{folder}\n{programs}", cluster.port);
    let written = file.set_len(0).and_then(|()| file.rewind());
    written.and_then(|()| file.write_all(place.as_bytes())).expect("a file beside the tests");
    // It outlives this process, for the next test.
    cluster.server = None;
    cluster
}

fn find_running(place: &str) -> Option<PostgresCluster> {
    let mut lines = place.lines();
    let port = lines.next()?.parse().ok()?;
    let folder = PathBuf::from(lines.next()?);
    let programs = PathBuf::from(lines.next()?);
    let owner = None;
    let settings = Vec::new();
    let server = None;
    let cluster = PostgresCluster { programs, folder, port, owner, settings, server };
    cluster.join().ok()?;
    // Its keeper may be about to end it; then it has not seen us, or leaves it.
    let closing = cluster.folder.join("closing");
    wait_until("the keeper of the cluster has decided", || !closing.exists());
    (cluster.folder.exists() && cluster.answers()).then_some(cluster)
}
