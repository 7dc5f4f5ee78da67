use super::*;

fn opened() -> Connection {
    Connection::open_in_memory().unwrap()
}

fn tables(connection: &Connection) -> String {
    let list = "SELECT group_concat(name, ' ') FROM
        (SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name)";
    let names: Option<String> = connection.query_row(list, [], |row| row.get(0)).unwrap();
    names.unwrap_or_default()
}

#[test]
fn an_empty_file_gets_all_steps_and_each_only_once() {
    let mut connection = opened();
    assert_eq!(version(&connection).unwrap(), Some(0));
    for _ in 0..2 {
        take(&mut connection, STEPS).unwrap();
        assert_eq!(version(&connection).unwrap(), u32::try_from(STEPS.len()).ok());
    }
    assert_eq!(tables(&connection), "audit audit_chain keys logins measurements pins");
}

#[test]
fn a_file_of_an_earlier_version_gets_only_what_it_lacks() {
    let steps = ["CREATE TABLE a (x)", "CREATE TABLE b (x); INSERT INTO a VALUES (1)"];
    let mut connection = opened();
    take(&mut connection, &steps[..1]).unwrap();
    assert_eq!(tables(&connection), "a");
    take(&mut connection, &steps).unwrap();
    take(&mut connection, &steps).unwrap();
    assert_eq!((tables(&connection).as_str(), version(&connection).unwrap()), ("a b", Some(2)));
    let rows: u32 = connection.query_row("SELECT count(*) FROM a", [], |it| it.get(0)).unwrap();
    assert_eq!(rows, 1);
}

#[test]
fn a_step_that_fails_leaves_nothing_behind() {
    let steps = ["CREATE TABLE a (x)", "CREATE TABLE b (x); INSERT INTO nowhere VALUES (1)"];
    let mut connection = opened();
    assert!(take(&mut connection, &steps).is_err());
    assert_eq!((tables(&connection).as_str(), version(&connection).unwrap()), ("a", Some(1)));
}

#[test]
fn files_of_other_programs_have_no_version_of_ours() {
    let check = |made: &str| {
        let connection = opened();
        connection.execute_batch(made).unwrap();
        assert_eq!(version(&connection).unwrap(), None, "{made}");
    };
    check("CREATE TABLE bookmarks (url TEXT)");
    check("PRAGMA user_version = 3");
    check("PRAGMA application_id = 77");
    let connection = opened();
    connection.pragma_update(None, "application_id", APPLICATION).unwrap();
    connection.pragma_update(None, "user_version", -1).unwrap();
    assert_eq!(version(&connection).unwrap(), None);
}
