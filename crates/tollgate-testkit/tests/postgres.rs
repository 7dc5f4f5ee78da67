//! The starter of PostgreSQL does what tests rely on.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use tollgate_testkit::postgres::{PostgresBuild, PostgresCluster, TestDatabase};

#[test]
fn each_test_has_a_database_of_its_own() {
    let one = TestDatabase::new(PostgresBuild::Plain);
    let other = TestDatabase::new(PostgresBuild::Plain);
    one.run("CREATE TABLE mine (number int)");
    assert_eq!(one.run("SELECT count(*) FROM pg_class WHERE relname = 'mine'").trim(), "1");
    assert_eq!(other.run("SELECT count(*) FROM pg_class WHERE relname = 'mine'").trim(), "0");
}

#[test]
fn vectors_are_there_where_they_were_asked_for() {
    let has = "SELECT count(*) FROM pg_extension WHERE extname = 'vector'";
    assert_eq!(TestDatabase::new(PostgresBuild::Plain).run(has).trim(), "0");
    assert_eq!(TestDatabase::new(PostgresBuild::WithVectors).run(has).trim(), "1");
}

#[test]
fn a_cluster_can_be_frozen_and_stopped_and_keeps_what_it_has() {
    let mut cluster = PostgresCluster::start(PostgresBuild::Plain);
    cluster.database("kept");
    cluster.run("kept", "CREATE TABLE kept AS SELECT 7 AS number");
    let port = cluster.port();

    cluster.freeze();
    assert!(!says_anything(port, Duration::from_millis(500)), "it answers though it is frozen");
    cluster.thaw();
    assert!(says_anything(port, Duration::from_secs(10)), "it does not answer again");

    cluster.stop();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    cluster.resume();
    assert_eq!(cluster.run("kept", "SELECT number FROM kept").trim(), "7");

    drop(cluster);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "it runs on");
}

/// Asks whether it speaks TLS, which it answers with one letter.
fn says_anything(port: u16, within: Duration) -> bool {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a socket");
    stream.set_read_timeout(Some(within)).expect("a socket");
    stream.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).expect("a socket");
    match stream.read(&mut [0]) {
        Ok(count) => count == 1,
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
            false
        }
    }
}
