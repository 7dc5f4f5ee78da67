use super::*;

fn format<'s>(steps: &'s [&'s str]) -> FileFormat<'s> {
    FileFormat { steps, ..STORE }
}

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
    assert_eq!(version(&connection, &STORE).unwrap(), Some(0));
    for _ in 0..2 {
        take(&mut connection, &STORE).unwrap();
        let known = u32::try_from(STORE.steps.len()).ok();
        assert_eq!(version(&connection, &STORE).unwrap(), known);
    }
    assert_eq!(
        tables(&connection),
        "audit audit_chain client_secrets keys live_calls logins measurements model_usage pins"
    );
}

#[test]
fn a_file_of_an_earlier_version_gets_only_what_it_lacks() {
    let steps = ["CREATE TABLE a (x)", "CREATE TABLE b (x); INSERT INTO a VALUES (1)"];
    let mut connection = opened();
    take(&mut connection, &format(&steps[..1])).unwrap();
    assert_eq!(tables(&connection), "a");
    take(&mut connection, &format(&steps)).unwrap();
    take(&mut connection, &format(&steps)).unwrap();
    assert_eq!(
        (tables(&connection).as_str(), version(&connection, &STORE).unwrap()),
        ("a b", Some(2))
    );
    let rows: u32 = connection.query_row("SELECT count(*) FROM a", [], |it| it.get(0)).unwrap();
    assert_eq!(rows, 1);
}

#[test]
fn a_step_that_fails_leaves_nothing_behind() {
    let steps = ["CREATE TABLE a (x)", "CREATE TABLE b (x); INSERT INTO nowhere VALUES (1)"];
    let mut connection = opened();
    assert!(take(&mut connection, &format(&steps)).is_err());
    assert_eq!(
        (tables(&connection).as_str(), version(&connection, &STORE).unwrap()),
        ("a", Some(1))
    );
}

#[test]
fn files_of_other_programs_have_no_version_of_ours() {
    let check = |made: &str| {
        let connection = opened();
        connection.execute_batch(made).unwrap();
        assert_eq!(version(&connection, &STORE).unwrap(), None, "{made}");
    };
    check("CREATE TABLE bookmarks (url TEXT)");
    check("PRAGMA user_version = 3");
    check("PRAGMA application_id = 77");
    let mut connection = opened();
    take(&mut connection, &STORE).unwrap();
    assert_eq!(version(&connection, &MEMORY).unwrap(), None);
    connection.pragma_update(None, "user_version", -1).unwrap();
    assert_eq!(version(&connection, &STORE).unwrap(), None);
}
