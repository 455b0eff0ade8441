//! The TFTP of a trade with files on a disk, for tests against other people's TFTP:
//! `tftp serve FOLDER` prints its address and stores what clients write; `tftp put ADDR:PORT FILE`
//! writes a file under its own name.

use std::net::UdpSocket;
use std::path::Path;

use pocketsim_probe_core::stop::Stop;
use pocketsim_probe_core::trade::tftp::{put, serve};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["serve", folder] => serve_folder(Path::new(folder)),
        ["put", server, file] => put_file(server, Path::new(file)),
        _ => panic!("usage: tftp serve FOLDER | tftp put ADDR:PORT FILE"),
    }
}

fn serve_folder(folder: &Path) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    println!("{}", socket.local_addr().expect("it is bound"));
    let stored = serve(socket, &Stop::new(), &mut |file| {
        let safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        assert!(file.filename.bytes().all(safe), "{:?}", file.filename);
        let partial = folder.join("partial");
        std::fs::write(&partial, &file.bytes).expect("a folder that can be written");
        std::fs::rename(partial, folder.join(file.filename)).expect("on the same file system");
    });
    stored.expect("the socket works");
}

fn put_file(server: &str, file: &Path) {
    let name = file
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name in UTF-8");
    let bytes = std::fs::read(file).expect("a file that can be read");
    put(server.parse().expect("ADDR:PORT"), name, &bytes).expect("the server takes it");
}
