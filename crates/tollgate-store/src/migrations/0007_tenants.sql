-- In whose memory a key is at home; nothing where there is only one tenant.
ALTER TABLE keys ADD COLUMN tenant TEXT;
