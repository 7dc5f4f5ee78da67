-- How long calls of each tool took lately, and where the tool stood by that.
CREATE TABLE measurements (
    environment TEXT NOT NULL,
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    -- Oldest first, eight bytes each, little endian.
    samples BLOB NOT NULL,
    standing BLOB NOT NULL,
    -- Milliseconds since 1970; to be shown and to forget by, never to decide by.
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (environment, server, tool)
) STRICT;
