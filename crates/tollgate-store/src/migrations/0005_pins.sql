-- Definitions of tools that were trusted or rejected. Of each tool at most one is accepted.
CREATE TABLE pins (
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    -- SHA-256 of the canonical definition, in hexadecimal digits.
    hash TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('accepted', 'rejected')),
    -- As the server said it, hidden text included: to be compared, never to be served.
    definition TEXT NOT NULL,
    -- Milliseconds since 1970.
    first_seen INTEGER NOT NULL,
    -- Both are null while nobody decided: it was simply the first.
    decided_at INTEGER,
    decided_by TEXT,
    PRIMARY KEY (server, tool, hash)
) STRICT;
CREATE UNIQUE INDEX pins_accepted ON pins (server, tool) WHERE state = 'accepted';
