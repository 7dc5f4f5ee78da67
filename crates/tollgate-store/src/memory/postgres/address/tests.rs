use super::*;

#[test]
fn addresses_are_read_as_they_are_typed() {
    let check = |url: &str, mode: SslMode, proof: ServerVerification| {
        let address = PostgresAddress::parse(url).unwrap();
        assert_eq!((address.config.get_ssl_mode(), &address.proof), (mode, &proof), "{url}");
    };
    let system = ServerVerification::Certificate(None);
    check("postgres://gateway@db.example/memory", SslMode::Prefer, ServerVerification::None);
    check(
        "postgresql://gateway@db.example:5433/memory?sslmode=disable",
        SslMode::Disable,
        ServerVerification::None,
    );
    check(
        "postgres://u:p%40ss@db/memory?sslmode=require",
        SslMode::Require,
        ServerVerification::None,
    );
    check("postgres://u@db/memory?sslmode=verify-full", SslMode::Require, system.clone());
    check("postgres://u@db/m?sslmode=verify-full&sslrootcert=system", SslMode::Require, system);
    let file = ServerVerification::Certificate(Some("/etc/ca one.pem".into()));
    check(
        "postgres://u@db/m?sslrootcert=/etc/ca%20one.pem&sslmode=verify-full",
        SslMode::Require,
        file,
    );
    check(
        "postgres://u@%2Fvar%2Frun%2Fpostgresql/memory",
        SslMode::Disable,
        ServerVerification::None,
    );
    check(
        "postgres:///memory?host=/var/run/postgresql",
        SslMode::Disable,
        ServerVerification::None,
    );
}

#[test]
fn bad_addresses_are_refused_without_repeating_them() {
    let check = |url: &str, expected: PostgresAddressError| {
        let found = PostgresAddress::parse(url).unwrap_err();
        assert_eq!(found, expected, "{url}");
        assert!(!found.to_string().contains("hunter2"), "{found}");
        assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
    };
    for url in ["", "sqlite", "mysql://u:hunter2@h/d", "host=h password=hunter2"] {
        check(url, PostgresAddressError::Unreadable);
    }
    check("postgres://u:hunter2@h:port/d", PostgresAddressError::Unreadable);
    check("postgres://u:hunter2@h/d?wrong=1", PostgresAddressError::Unreadable);
    check("postgres://", PostgresAddressError::NoHost);
    check("postgres://u:hunter2@h/d?sslmode=verify-ca", PostgresAddressError::SslMode);
    check("postgres://u:hunter2@h/d?sslmode=", PostgresAddressError::SslMode);
    check(
        "postgres://u:hunter2@h/d?sslrootcert=/x&sslmode=require",
        PostgresAddressError::UnusedRoots,
    );
}

#[test]
fn a_password_is_shown_nowhere() {
    let address = PostgresAddress::parse("postgres://u:hunter2@h/d").unwrap();
    assert!(!format!("{address:?}").contains("hunter2"));
}
