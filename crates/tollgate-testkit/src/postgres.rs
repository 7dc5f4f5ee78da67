//! Real PostgreSQL for tests: a cluster of its own, on a port of its own, ended when it is dropped;
//! or a database in one that all tests share. It can be stopped, frozen and started again.

use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

mod binaries;
mod shared_cluster;

pub use binaries::PostgresBuild;
pub use shared_cluster::TestDatabase;

/// A running PostgreSQL.
#[derive(Debug)]
pub struct PostgresCluster {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    owner: Option<PostgresOwner>,
    settings: Vec<String>,
    /// `None` when another process started it.
    server: Option<Child>,
}

/// Whom it runs as when we are root, which PostgreSQL refuses to be.
#[derive(Debug, Clone, Copy)]
struct PostgresOwner {
    user: u32,
    group: u32,
}

/// What was committed outlasts the server, as it does for users; only a crash of the whole machine
/// would lose it, and none is tested.
const SETTINGS: [&str; 7] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=100",
    "shared_buffers=64MB",
    "timezone=UTC",
    "fsync=off",
    "full_page_writes=off",
];

/// May do everything.
const ADMIN: &str = "admin";
/// What a gateway is given: its database, and nothing else.
const GATEWAY: &str = "gateway";
/// Of the role `guarded`, the only one that has to give one.
pub const PASSWORD: &str = "s3cret-of-the-gateway";

impl PostgresCluster {
    /// # Panics
    /// When it cannot be installed or started; its own words are in the message.
    pub fn start(build: PostgresBuild) -> Self {
        let mut cluster = Self::create(build);
        cluster.keep(0);
        cluster.begin();
        cluster.set_up();
        cluster
    }

    fn create(build: PostgresBuild) -> Self {
        let folder = tempfile::Builder::new().prefix("tollgate-postgres-").tempdir();
        let folder = folder.expect("a temporary folder").keep();
        let owner = owner_of_a_cluster(&folder);
        if let Some(PostgresOwner { user, group }) = owner {
            chown(&folder, Some(user), Some(group)).expect("root gives folders away");
        }
        let programs = binaries::programs(build, &folder, owner);
        // It has none before its first start: others would take it while `initdb` runs.
        let port = 0;
        let settings = SETTINGS.iter().map(|it| (*it).to_owned()).collect();
        let cluster = Self { programs, folder, port, owner, settings, server: None };
        let data = cluster.data();
        let mut initdb = cluster.program("initdb");
        initdb.args(["--username", ADMIN, "--auth", "trust", "--encoding", "UTF8"]);
        initdb.args(["--no-locale", "--no-sync", "--no-instructions", "--pgdata"]).arg(&data);
        output(&mut initdb);
        let rules = "host all guarded 127.0.0.1/32 scram-sha-256\n\
                     host all all 127.0.0.1/32 trust\n";
        fs::write(data.join("pg_hba.conf"), rules).expect("the cluster's rules");
        cluster
    }

    /// Its first start: on another port when somebody took the one that was free.
    fn begin(&mut self) {
        let comes_up = (0..5).any(|_| {
            self.port = free_port();
            self.comes_up()
        });
        assert!(comes_up, "postgres does not start: {}", self.log());
    }

    /// Roles, and what else every database has.
    fn set_up(&self) {
        self.run("postgres", &format!("CREATE ROLE {GATEWAY} LOGIN"));
        let guarded = format!("CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'");
        self.run("postgres", &guarded);
        let has = "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'";
        if self.run("postgres", has).trim() == "1" {
            self.run("template1", "CREATE EXTENSION vector");
        }
    }

    /// A new database, by the address that a gateway is given.
    pub fn database(&self, name: &str) -> String {
        self.run("postgres", &format!("CREATE DATABASE {name} OWNER {GATEWAY}"));
        self.url(name)
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://{GATEWAY}@127.0.0.1:{}/{database}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// What the server wrote into its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// A file in the folder of its data, readable for the server alone.
    pub fn put(&self, name: &str, content: &str) {
        let path = self.data().join(name);
        fs::write(&path, content).expect("a file in the data folder");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&path, mode).expect("rights of a file");
        if let Some(PostgresOwner { user, group }) = self.owner {
            chown(&path, Some(user), Some(group)).expect("root gives files away");
        }
    }

    /// A setting for its next start, as `name=value`.
    pub fn set(&mut self, setting: &str) {
        self.settings.push(setting.to_owned());
    }

    /// What the statement gives, as the administrator, without headings.
    ///
    /// # Panics
    /// When it fails.
    pub fn run(&self, database: &str, statement: &str) -> String {
        let mut psql = self.program("psql");
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--host", "127.0.0.1"]);
        psql.args(["--port", &self.port.to_string(), "--username", ADMIN]);
        psql.args(["--set", "ON_ERROR_STOP=1", "--dbname", database, "--command", statement]);
        output(&mut psql)
    }

    /// As a power cut: nothing is said to anybody, nothing is finished.
    pub fn stop(&mut self) {
        // SIGQUIT, since SIGKILL would leave memory behind that belongs to no process.
        self.thaw();
        if let Some(mut server) = self.server.take() {
            signal("QUIT", &server.id().to_string());
            drop(server.wait());
        }
    }

    /// Starts it again where it was.
    ///
    /// # Panics
    /// When it does not start; its own words are in the message.
    pub fn resume(&mut self) {
        // Whoever has its port meanwhile may be gone in a moment.
        let comes_up = (0..20).any(|attempt| {
            thread::sleep(Duration::from_millis(if attempt == 0 { 0 } else { 500 }));
            self.comes_up()
        });
        assert!(comes_up, "postgres does not start: {}", self.log());
    }

    /// Starts it; `false` when it ended instead of answering.
    fn comes_up(&mut self) -> bool {
        self.server = Some(self.spawn());
        wait_until("postgres answers", || self.has_ended() || (self.is_ready() && self.answers()));
        !self.has_ended()
    }

    fn spawn(&self) -> Child {
        let log = File::options().create(true).append(true).open(self.folder.join("log"));
        let log = log.expect("a log file");
        let mut postgres = self.program("postgres");
        postgres.arg("-D").arg(self.data()).args(["-p", &self.port.to_string()]);
        postgres.args(self.settings.iter().flat_map(|it| ["-c", it]));
        postgres.stdin(Stdio::null()).stdout(log.try_clone().expect("a log file")).stderr(log);
        // Signals for the test's group are not for it: others may use it, or it is stopped in order.
        postgres.process_group(0);
        postgres.spawn().expect("postgres starts")
    }

    fn has_ended(&mut self) -> bool {
        let ended = self.server.as_mut().map(Child::try_wait);
        matches!(ended, Some(Ok(Some(_))))
    }

    /// As it says itself: another's server may answer at a port that this one did not get.
    fn is_ready(&self) -> bool {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        file.lines().nth(7).is_some_and(|status| status.trim() == "ready")
    }

    /// It keeps its connections and does nothing.
    pub fn freeze(&self) {
        let server = self.pid();
        signal("STOP", &server);
        children(&server).iter().for_each(|child| signal("STOP", child));
    }

    pub fn thaw(&self) {
        let server = self.pid();
        children(&server).iter().for_each(|child| signal("CONT", child));
        signal("CONT", &server);
    }

    fn answers(&self) -> bool {
        let mut command = self.program("pg_isready");
        command.args(["--quiet", "--host", "127.0.0.1", "--port", &self.port.to_string()]);
        command.status().is_ok_and(|status| status.success())
    }

    fn pid(&self) -> String {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        file.lines().next().unwrap_or_default().to_owned()
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        run_as(&mut command, self.owner);
        command.current_dir(&self.folder).env("LC_ALL", "C");
        command
    }

    /// Has it ended `seconds` after the last process that uses it, however that ends.
    fn keep(&self, seconds: u32) {
        fs::create_dir(self.folder.join("users")).expect("a new folder");
        self.join().expect("a new folder");
        let mut command = Command::new("sh");
        command.args(["-c", "sh -c \"$0\" keeper \"$@\" &", include_str!("postgres/keeper.sh")]);
        command.arg(&self.folder).arg(seconds.to_string()).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().expect("a shell");
    }

    /// Enters this process as one that uses it.
    fn join(&self) -> io::Result<()> {
        let own = std::process::id().to_string();
        File::create(self.folder.join("users").join(own)).map(drop)
    }
}

impl Drop for PostgresCluster {
    fn drop(&mut self) {
        if self.server.is_some() {
            self.stop();
            drop(fs::remove_dir_all(&self.folder));
        }
    }
}

fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    free.expect("a free port").port()
}

fn owner_of_a_cluster(own_folder: &Path) -> Option<PostgresOwner> {
    let ours = fs::metadata(own_folder).expect("a folder that was just made").uid();
    if ours != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("a list of users");
    let owner = ["postgres", "nobody"].iter().find_map(|name| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2);
        let user = numbers.next()?.parse().ok()?;
        Some(PostgresOwner { user, group: numbers.next()?.parse().ok()? })
    });
    Some(owner.expect("a user beside root: PostgreSQL refuses to be root"))
}

fn run_as(command: &mut Command, owner: Option<PostgresOwner>) {
    if let Some(PostgresOwner { user, group }) = owner {
        command.uid(user).gid(group);
    }
}

fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn signal(name: &str, pid: &str) {
    if !pid.is_empty() {
        // The shell's own `kill` is everywhere. Who is gone meanwhile needs no signal.
        let line = format!("kill -{name} {pid} 2>/dev/null");
        drop(Command::new("sh").args(["-c", &line]).status());
    }
}

/// The processes that one process started, as far as they are there.
fn children(pid: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // `7 (a name) S 1 ...`: the parent stands second after the name, which may have anything in it.
        let after = stat.rsplit_once(") ").map(|(_, after)| after).unwrap_or_default();
        if !pid.is_empty() && after.split(' ').nth(1) == Some(pid) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1500 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("waited 30 s until {what}");
}
