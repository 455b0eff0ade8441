//! SQLite with the settings of Android's `SQLiteDatabase`.
//!
//! `wal` = 1 is what an app gets that asks for nothing since Android 9 (compatibility WAL): journal
//! mode WAL with synchronous NORMAL, which waits for the storage only at checkpoints. `wal` = 0 is
//! what it gets where the maker switched that off, as on f2fs, and before Android 9: journal mode
//! TRUNCATE with synchronous FULL. Both from `core/res/res/values/config.xml` of the Android
//! framework (`db_wal_sync_mode`, `db_default_journal_mode`, `db_default_sync_mode`).

use std::hint::black_box;
use std::path::Path;

use rusqlite::{params, Connection, Error};

use super::scratch::Scratch;
use crate::kernel::{Repeat, Unmeasured};
use crate::kernels::inputs::{ensure, Generator};

pub(super) fn inserting(folder: &Path, bytes: usize, wal: bool) -> Result<impl Repeat, Unmeasured> {
    let mut database = Database::open(Scratch::new(folder)?, bytes, wal)?;
    database.insert()?;
    ensure(
        database.read(0)? == database.block,
        "SQLite keeps something else",
    )?;
    Ok(database)
}

pub(super) fn reading(folder: &Path, bytes: usize) -> Result<impl Repeat, Unmeasured> {
    let mut database = Database::open(Scratch::new(folder)?, bytes, true)?;
    database.fill()?;
    ensure(
        database.read(READ_ROWS - 1)? == database.block,
        "SQLite keeps something else",
    )?;
    let mut key = 0;
    Ok(move || {
        key = (key + READ_STEP) % READ_ROWS;
        black_box(database.read(key)?);
        Ok(())
    })
}

/// Fields go in order: the connection closes before its folder is removed.
struct Database {
    connection: Connection,
    block: Vec<u8>,
    rows: i64,
    wal: bool,
    _scratch: Scratch,
}

impl Database {
    fn open(scratch: Scratch, bytes: usize, wal: bool) -> Result<Self, Unmeasured> {
        let connection = Connection::open(scratch.file("blocks.db")).map_err(refused)?;
        configure(&connection, wal)?;
        connection.execute_batch(SCHEMA).map_err(refused)?;
        Ok(Self {
            connection,
            block: Generator::new().bytes(bytes),
            rows: 0,
            wal,
            _scratch: scratch,
        })
    }

    /// One row, committed by itself.
    fn insert(&mut self) -> Result<(), Unmeasured> {
        let mut statement = self.connection.prepare_cached(INSERT).map_err(refused)?;
        let row = params![self.rows, self.block];
        statement.execute(row).map_err(refused)?;
        self.rows += 1;
        Ok(())
    }

    fn fill(&mut self) -> Result<(), Unmeasured> {
        self.connection.execute_batch("BEGIN").map_err(refused)?;
        (0..READ_ROWS).try_for_each(|_| self.insert())?;
        self.connection.execute_batch("COMMIT").map_err(refused)
    }

    fn read(&self, key: i64) -> Result<Vec<u8>, Unmeasured> {
        let mut statement = self.connection.prepare_cached(SELECT).map_err(refused)?;
        statement
            .query_row([key], |row| row.get(0))
            .map_err(refused)
    }
}

impl Repeat for Database {
    fn run(&mut self, iterations: u64) -> Result<(), Unmeasured> {
        (0..iterations).try_for_each(|_| self.insert())
    }

    /// Two checkpoints or more, as a commit writes the pages of its block and often one of the tree;
    /// without a log every commit costs the same.
    fn period(&self) -> u64 {
        if !self.wal {
            return 1;
        }
        let pages = self.block.len() / PAGE_BYTES + 1;
        (2 * CHECKPOINT_PAGES).div_ceil(pages) as u64
    }

    fn tidy(&mut self) -> Result<(), Unmeasured> {
        if self.rows as usize * self.block.len() >= TABLE_BYTES_MAX {
            self.connection.execute_batch(EMPTY).map_err(refused)?;
            self.rows = 0;
        }
        Ok(())
    }
}

fn configure(connection: &Connection, wal: bool) -> Result<(), Unmeasured> {
    let (journal, synchronous) = if wal {
        ("wal", "NORMAL")
    } else {
        ("truncate", "FULL")
    };
    // SQLite answers with the mode that it has, which is another where the file system lacks locks.
    let chosen: String = connection
        .pragma_update_and_check(None, "journal_mode", journal, |row| row.get(0))
        .map_err(refused)?;
    if chosen != journal {
        return Err(Unmeasured::because(format!(
            "SQLite has no journal mode {journal} here, only {chosen}"
        )));
    }
    let pragmas = format!("PRAGMA synchronous = {synchronous}; {LIMITS}");
    connection.execute_batch(&pragmas).map_err(refused)
}

fn refused(error: Error) -> Unmeasured {
    Unmeasured::because(format!("SQLite: {error}"))
}

const SCHEMA: &str = "CREATE TABLE blocks (key INTEGER PRIMARY KEY, block BLOB NOT NULL)";
const INSERT: &str = "INSERT INTO blocks (key, block) VALUES (?1, ?2)";
const SELECT: &str = "SELECT block FROM blocks WHERE key = ?1";
const EMPTY: &str = "DELETE FROM blocks";
/// Android's: a checkpoint every 100 pages (`db_wal_autocheckpoint`), journals cut to 512 KiB
/// (`db_journal_size_limit`).
const LIMITS: &str = "PRAGMA wal_autocheckpoint = 100; PRAGMA journal_size_limit = 524288";
const CHECKPOINT_PAGES: usize = 100;
/// SQLite's default.
const PAGE_BYTES: usize = 4_096;
/// So that an hour of inserting does not fill a phone.
const TABLE_BYTES_MAX: usize = 16 << 20;
/// With blocks of 668 bytes half of SQLite's own cache of 2 MB.
const READ_ROWS: i64 = 1_024;
/// Odd, so that it goes over all rows, and far enough that the next row is on another page.
const READ_STEP: i64 = 387;

#[cfg(test)]
mod tests {
    use super::*;

    fn database(wal: bool) -> Database {
        Database::open(Scratch::for_tests(), 100, wal).expect("a database")
    }

    fn pragma(database: &Database, name: &str) -> String {
        let value = |row: &rusqlite::Row<'_>| row.get::<_, rusqlite::types::Value>(0);
        match database.connection.pragma_query_value(None, name, value) {
            Ok(rusqlite::types::Value::Integer(number)) => number.to_string(),
            Ok(rusqlite::types::Value::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn settings_are_those_of_android() {
        for (wal, expected) in [(true, ["wal", "1"]), (false, ["truncate", "2"])] {
            let database = database(wal);
            let found = ["journal_mode", "synchronous"].map(|name| pragma(&database, name));
            assert_eq!(found, expected);
            assert_eq!(pragma(&database, "wal_autocheckpoint"), "100");
            assert_eq!(pragma(&database, "journal_size_limit"), "524288");
        }
    }

    #[test]
    fn every_insert_is_committed_by_itself() {
        let mut database = database(true);
        let path = database.connection.path().expect("a file").to_owned();
        for rows in 1..4 {
            database.insert().expect("inserted");
            let other = Connection::open(&path).expect("opened");
            let count = other.query_row("SELECT count(*) FROM blocks", [], |row| row.get(0));
            assert_eq!(count, Ok(rows));
        }
    }

    #[test]
    fn a_full_table_is_emptied() {
        let mut database = database(true);
        database.block = vec![7; TABLE_BYTES_MAX / 2];
        let mut rows = Vec::new();
        for _ in 0..4 {
            database.tidy().expect("emptied");
            database.run(1).expect("inserted");
            rows.push(database.rows);
        }
        assert_eq!(rows, [1, 2, 1, 2]);
        assert_eq!(database.read(0).expect("a row"), database.block);
        assert!(database.read(2).is_err());
    }

    #[test]
    fn every_sample_has_checkpoints() {
        for bytes in [100, 668, 4_096, 65_536] {
            let scratch = Scratch::for_tests();
            let mut database = Database::open(scratch, bytes, true).expect("a database");
            database.insert().expect("inserted");
            database.run(database.period()).expect("inserted");
            // The log begins anew after a checkpoint, so it stays small.
            let path = database.connection.path().expect("a file").to_owned() + "-wal";
            let pages = std::fs::metadata(path).expect("a log").len() as usize / PAGE_BYTES;
            let written = database.period() as usize * (bytes / PAGE_BYTES + 1);
            assert!(written >= 2 * CHECKPOINT_PAGES);
            assert!(pages < 2 * CHECKPOINT_PAGES, "{bytes}: {pages}");
        }
    }

    #[test]
    fn reads_reach_every_row() {
        let mut keys: Vec<i64> = (1..=READ_ROWS)
            .map(|turn| turn * READ_STEP % READ_ROWS)
            .collect();
        keys.sort_unstable();
        assert!(keys.into_iter().eq(0..READ_ROWS));
    }

    #[test]
    fn a_closed_database_leaves_nothing() {
        let mut database = database(true);
        database.insert().expect("inserted");
        let path = database.connection.path().expect("a file").to_owned();
        drop(database);
        assert!(!Path::new(&path).parent().expect("a folder").exists());
    }
}
