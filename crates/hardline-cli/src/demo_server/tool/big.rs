//! `big`: an answer of any size that fits a frame.

use hardline_wire::limits::DEFAULT_FRAME_BYTES;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{Route, harmless};

/// Limit on the text. Leaves room in a frame for the rest of the answer. More is refused.
const MAX_BYTES: usize = DEFAULT_FRAME_BYTES - (1 << 20);

/// Repeated to fill the text. Has no character that JSON escapes, so that sizes are exact.
const PATTERN: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Length of the text in bytes
    #[schemars(range(max = MAX_BYTES))]
    bytes: usize,
}

pub(super) fn route() -> Route {
    let description =
        format!("Returns a text of exactly the requested number of bytes, at most {MAX_BYTES}");
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
