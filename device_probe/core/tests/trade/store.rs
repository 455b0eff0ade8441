//! Where stored blocks go, by itself: what is counted, and what its limit lets in.

use pocketsim_probe_core::trade::store::{Storage, Store};

fn store(limit_bytes: u64) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(Storage::Append, folder.path()).expect("a file");
    (folder, store.limited_to(limit_bytes))
}

#[test]
fn what_is_kept_in_memory_takes_no_room_and_waits_for_no_disk() {
    let mut nowhere = Store::open(Storage::Memory, "no/such/folder".as_ref()).expect("no file");
    assert!(!nowhere.is_on_disk() && nowhere.has_room(u64::MAX));
    assert!(nowhere.append(&[1; 100]));
    assert_eq!((nowhere.bytes(), nowhere.failures()), (0, 0));
}

#[test]
fn blocks_are_appended_whole_and_the_file_has_no_name() {
    for storage in [Storage::Append, Storage::Fsync] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = Store::open(storage, folder.path()).expect("a file");
        assert!(store.is_on_disk());
        assert!(store.append(&[1; 100]) && store.append(&[2; 50]));
        assert_eq!((store.bytes(), store.failures()), (150, 0));
        let left = std::fs::read_dir(folder.path()).expect("it").count();
        assert_eq!(left, 0, "{storage:?}");
    }
}

#[test]
fn the_last_byte_within_the_limit_is_stored_and_the_next_is_not() {
    let (_folder, mut store) = store(100);
    assert!(store.append(&[1; 60]));
    assert!(store.has_room(40) && !store.has_room(41) && !store.has_room(u64::MAX));
    assert!(store.append(&[2; 40]));
    assert!(!store.append(&[3; 1]));
    assert_eq!((store.bytes(), store.failures()), (100, 1));
}

#[test]
fn a_block_without_room_leaves_the_room_to_a_shorter_one() {
    let (_folder, mut store) = store(100);
    assert!(!store.append(&[1; 101]));
    assert!(store.append(&[2; 100]));
    assert_eq!((store.bytes(), store.failures()), (100, 1));
}

#[test]
fn what_the_disk_refused_counts_against_the_limit_as_it_may_be_there_in_part() {
    let full = std::fs::File::options().append(true).open("/dev/full");
    let mut store = Store::on(full.expect("Linux"), Storage::Append).limited_to(100);
    assert!(!store.append(&[1; 60]));
    assert!(!store.has_room(41));
    assert!(!store.append(&[1; 60]));
    assert_eq!(store.failures(), 2);
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    assert!(Store::open(Storage::Fsync, "no/such/folder".as_ref()).is_err());
}
