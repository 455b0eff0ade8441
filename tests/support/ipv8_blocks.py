"""A database of blocks as IPv8 has it, of three owners."""

import sqlite3

KEYS = {name: name.encode() * 4 for name in "abc"}


def blocks(path, *some):
    """Write blocks: owner, sequence number, link, its sequence number, timestamp in ms."""
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE blocks (type TEXT, tx BLOB, public_key BLOB, sequence_number INTEGER, "
        "link_public_key BLOB, link_sequence_number INTEGER, previous_hash BLOB, signature BLOB, "
        "block_timestamp BIGINT, insert_time TIMESTAMP, block_hash BLOB)"
    )
    for owner, number, link, link_number, time_ms in some:
        connection.execute(
            "INSERT INTO blocks VALUES ('t', ?, ?, ?, ?, ?, '', '', ?, '', '')",
            (b"x" * 50, KEYS[owner], number, KEYS[link], link_number, time_ms),
        )
    connection.commit()
    connection.close()
    return path.read_bytes()
