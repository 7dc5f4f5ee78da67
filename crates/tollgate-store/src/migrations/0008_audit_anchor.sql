-- Whether a file beside the database notes where the trail ends: one that is gone was removed.
ALTER TABLE audit_chain ADD COLUMN anchored INTEGER NOT NULL DEFAULT 0;
