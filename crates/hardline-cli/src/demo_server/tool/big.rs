//! `big`: an answer of any size that fits a frame.

use hardline_wire::limits::DEFAULT_FRAME_BYTES;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{Route, harmless};

/// Limit on the text: 15 MiB, so that the answer fits into a frame of 16 MiB. More is refused.
const MAX_BYTES: usize = 15 << 20;
const _: () = assert!(MAX_BYTES + (1 << 20) <= DEFAULT_FRAME_BYTES);

/// Repeated to fill the text. Has no character that JSON escapes, so that sizes are exact.
const PATTERN: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Length of the text in bytes; at most 15 MiB
    #[schemars(range(max = MAX_BYTES))]
    bytes: usize,
}

pub(super) fn route() -> Route {
    let description = "Returns a text of exactly the requested number of bytes, at most 15728640";
    Route::new(harmless::<Arguments>("big", "Big answer", description), big)
}

fn big(Parameters(Arguments { bytes }): Parameters<Arguments>) -> Result<String, String> {
    if bytes > MAX_BYTES {
        return Err(format!("bytes must be at most {MAX_BYTES}, not {bytes}"));
    }
    let mut text = PATTERN.repeat(bytes.div_ceil(PATTERN.len()));
    text.truncate(bytes);
    Ok(text)
}
