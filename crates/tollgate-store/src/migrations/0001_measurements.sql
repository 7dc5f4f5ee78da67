-- How long calls of each tool took lately, and where the tool stood by that.
CREATE TABLE measurements (
    environment TEXT NOT NULL,
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    -- Counts how often the row was written, so that a process sees that another one did.
    revision INTEGER NOT NULL,
    -- Oldest first, eight bytes each, little endian.
    samples BLOB NOT NULL,
    -- Tiers by their names; nothing where nothing was measured.
    measured TEXT,
    home TEXT,
    health TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    run INTEGER NOT NULL,
    failed_trials INTEGER NOT NULL,
    -- Milliseconds since 1970; to be shown and to forget by, never to decide by.
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (environment, server, tool)
) STRICT;
