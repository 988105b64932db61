//! Configuration files: as clients have them, as people break them, and as nobody would write them.

mod client;
mod mistake;
mod random;
#[cfg(unix)]
mod resolve;

use std::path::Path;

use hardline_client::config::{self, ConfigError, Dialect, File, ServerConfig};

fn parse(path: &str, text: &str) -> Result<File, ConfigError> {
    let path = Path::new(path);
    config::parse_in(path, text.as_bytes(), Dialect::of(path), Some(Path::new("/home/ada/shop")))
}

/// Reads a file in which nothing is wrong.
#[track_caller]
fn sound(path: &str, text: &str) -> Vec<ServerConfig> {
    let file = parse(path, text).unwrap();
    assert_eq!(file.mistakes, [], "{path}");
    file.servers
}
