//! Reads sizes on the command line.

use bytesize::ByteSize;

/// Reads a number of bytes, with or without a unit.
pub(crate) fn read(text: &str) -> Result<ByteSize, &'static str> {
    text.parse().map_err(|_| "expected a size such as 500000, 64KiB or 16MiB")
}
