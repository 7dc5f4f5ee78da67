-- Keys that were made by command. Of a key only its SHA-256 is kept. Rows stay when a key is
-- revoked: a gateway that ever had keys is never open again.
CREATE TABLE keys (
    name TEXT NOT NULL PRIMARY KEY,
    fingerprint BLOB NOT NULL UNIQUE CHECK (length(fingerprint) = 32),
    -- What it was before, and until when that lets in as well.
    former BLOB CHECK (length(former) = 32),
    former_until INTEGER,
    role TEXT NOT NULL,
    -- One on each line; nothing where there is no restriction.
    agents TEXT,
    rights TEXT NOT NULL,
    tools TEXT,
    rate_limit TEXT,
    concurrent INTEGER,
    -- Milliseconds since 1970.
    made_at INTEGER NOT NULL,
    expires_at INTEGER,
    used_at INTEGER,
    revoked_at INTEGER
) STRICT;
