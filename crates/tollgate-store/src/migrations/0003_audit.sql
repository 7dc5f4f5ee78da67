-- What was called and decided: one row each, never changed, removed only from the oldest on.
CREATE TABLE audit (
    -- One more than the row before it. Order is by this number, never by the clock.
    sequence INTEGER PRIMARY KEY,
    -- Milliseconds since 1970.
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    principal TEXT NOT NULL,
    agent TEXT,
    method TEXT,
    name TEXT,
    server TEXT,
    tool TEXT,
    -- SHA-256 over the arguments as they were sent.
    arguments_hash BLOB,
    -- JSON without what must not be seen.
    arguments TEXT,
    catalog_version INTEGER,
    tier TEXT,
    outcome TEXT NOT NULL,
    duration_us INTEGER,
    bytes INTEGER,
    cached INTEGER,
    call TEXT,
    detail TEXT,
    -- SHA-256 over the hash of the row before it and all of the above.
    hash BLOB NOT NULL
) STRICT;

CREATE INDEX audit_at ON audit (at);

CREATE TRIGGER audit_is_kept_as_written BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'rows of the audit trail are never changed');
END;

-- Where the chain of hashes begins and ends.
CREATE TABLE audit_chain (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- The last row that was removed.
    cut_sequence INTEGER NOT NULL,
    cut_hash BLOB NOT NULL,
    -- The last row that was written.
    last_sequence INTEGER NOT NULL,
    last_hash BLOB NOT NULL
) STRICT;

INSERT INTO audit_chain VALUES (1, 0, zeroblob(32), 0, zeroblob(32));
