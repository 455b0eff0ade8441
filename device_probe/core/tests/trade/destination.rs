//! Where a file goes that a user names.

use std::fs;
use std::path::PathBuf;

use pocketsim_probe_core::destination::Destination;

/// A folder with these files in it.
fn folder(names: &[&str]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().expect("a folder");
    let paths: Vec<_> = names.iter().map(|name| folder.path().join(name)).collect();
    for path in &paths {
        fs::write(path, path.file_name().expect("a name").as_encoded_bytes()).expect("written");
    }
    (folder, paths)
}

#[test]
fn a_name_that_nothing_has_is_a_file_to_be() {
    let (folder, _) = folder(&[]);
    let path = folder.path().join("new");
    let destination = Destination::of(&path).expect("possible");
    assert_eq!(destination, Destination::File(path.clone()));
    assert_eq!(destination.path(), path);
    assert!(!path.exists(), "nothing is made yet");
}

#[test]
fn a_link_stands_for_what_it_leads_to() {
    let (folder, paths) = folder(&["old"]);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("old", &link).expect("a link");
    let real = paths[0].canonicalize().expect("it is there");
    assert_eq!(
        Destination::of(&link).expect("possible"),
        Destination::File(real)
    );
}

#[test]
fn what_is_no_file_is_never_renamed_over() {
    let null = PathBuf::from("/dev/null");
    let other = Destination::of(&null).expect("possible");
    assert_eq!(other, Destination::Other(null.clone()));
    let (_folder, paths) = folder(&["whole"]);
    other.take(&paths[0]).expect("it swallows everything");
    assert!(!paths[0].exists() && !null.metadata().expect("there").is_file());
}

#[test]
fn folders_and_links_to_nothing_are_refused() {
    let (folder, _) = folder(&[]);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("nothing", &link).expect("a link");
    for (path, said) in [
        (folder.path(), "a folder"),
        (&link, "a symbolic link to nothing"),
    ] {
        let error = Destination::of(path).expect_err(said).to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn what_is_whole_replaces_what_was_there_and_goes_away() {
    let (_folder, paths) = folder(&["old", "whole"]);
    let destination = Destination::of(&paths[0]).expect("possible");
    destination.take(&paths[1]).expect("renamed");
    assert_eq!(fs::read(&paths[0]).expect("there"), b"whole");
    assert!(!paths[1].exists());
}

#[test]
fn what_could_not_be_given_is_there_still() {
    let (folder, paths) = folder(&["whole"]);
    let nowhere = Destination::File(folder.path().join("no/such/folder"));
    assert!(nowhere.take(&paths[0]).is_err());
    let full = Destination::Other("/dev/full".into());
    assert!(full.take(&paths[0]).is_err());
    assert_eq!(fs::read(&paths[0]).expect("there"), b"whole");
}
