#!/usr/bin/env python3
"""Writes the table of merges that `crates/tollgate-llm/src/tokens/bpe.rs` counts by.

    scripts/vocabulary.py o200k_base.tiktoken.gz crates/tollgate-llm/src/tokens/o200k.merges

The source is a vocabulary as tiktoken publishes it: `base64(token) rank` in each line, also packed.
Written are 256 tokens of one byte each (1 byte), then for each further rank the two lower ranks
that it is merged from (3 bytes each, little end first).
"""

import base64
import gzip
import sys


def main() -> None:
    source, target = sys.argv[1:]
    opener = gzip.open if source.endswith(".gz") else open
    with opener(source, "rb") as lines:
        tokens = [base64.b64decode(line.split()[0]) for line in lines if line.strip()]
    ranks = {token: rank for rank, token in enumerate(tokens)}
    with open(target, "wb") as out:
        for token in tokens[:256]:
            assert len(token) == 1
            out.write(token)
        for rank, token in enumerate(tokens[256:], 256):
            left, right = halves(token, rank, ranks)
            out.write(ranks[left].to_bytes(3, "little") + ranks[right].to_bytes(3, "little"))


def halves(token: bytes, rank: int, ranks: dict[bytes, int]) -> list[bytes]:
    """Merges the token's own bytes by every lower rank: two parts are left."""
    parts = [token[at : at + 1] for at in range(len(token))]
    while len(parts) > 2:
        pairs = [ranks.get(one + two, rank) for one, two in zip(parts, parts[1:])]
        lowest = min(pairs)
        assert lowest < rank, f"rank {rank} cannot be reached"
        at = pairs.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    assert len(parts) == 2
    return parts


if __name__ == "__main__":
    main()
