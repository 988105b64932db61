//! Configuration files: of real clients, with common mistakes, and random ones.

mod client;
mod mistake;
mod random;
#[cfg(unix)]
mod resolve;

use std::path::Path;

use hardline_client::config::{self, ConfigError, ConfigFile, Dialect, ServerConfig};

fn parse(path: &str, text: &str) -> Result<ConfigFile, ConfigError> {
    let path = Path::new(path);
    config::parse_in(path, text.as_bytes(), Dialect::of(path), Some(Path::new("/home/ada/shop")))
}

/// Parses a file without mistakes.
#[track_caller]
fn sound(path: &str, text: &str) -> Vec<ServerConfig> {
    let file = parse(path, text).unwrap();
    assert_eq!(file.mistakes, [], "{path}");
    file.servers
}
