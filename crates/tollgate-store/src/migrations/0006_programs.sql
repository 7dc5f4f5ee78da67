-- The call in whose program a call was made.
ALTER TABLE audit ADD COLUMN within TEXT;
