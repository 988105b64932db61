//! Values of arguments that several commands take: sizes, and the option `--format`.

use bytesize::ByteSize;
use clap::ValueEnum;

/// Format of what a command prints.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One JSON document for programs
    Json,
}

/// Reads a number of bytes, with or without a unit.
pub(crate) fn read_size(text: &str) -> Result<ByteSize, &'static str> {
    text.parse().map_err(|_| "expected a size such as 500000, 64KiB or 16MiB")
}
