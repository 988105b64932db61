//! Settings of a policy besides actions: sizes, bursts, times, when a session is closed.

use std::time::Duration;

use hardline_wire::limits::Limits;

use super::{Launch, Profile};
use crate::tools::ToolFilter;

/// The settings for one server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Settings {
    pub(super) limits: Limits,
    pub(super) max_content_bytes: Option<usize>,
    pub(super) burst: Burst,
    pub(super) close_after: Option<u32>,
    pub(super) hold_back_ms: u32,
    pub(super) tools: ToolFilter,
    pub(super) launch: Launch,
}

impl Settings {
    /// The greatest value of `close_after`.
    pub const MAX_CLOSE_AFTER: u32 = 1 << 20;
    /// The greatest value of `hold_back_ms`.
    pub const MAX_HOLD_BACK_MS: u32 = 10_000;

    /// What `profile` sets.
    pub fn of(profile: Profile) -> Self {
        let (burst, close_after, hold_back_ms) = match profile {
            Profile::Observe => (Burst::BALANCED, None, 0),
            Profile::Balanced => (Burst::BALANCED, None, 2),
            Profile::Strict => (Burst::STRICT, Some(8), 20),
        };
        Self {
            limits: Limits::default(),
            max_content_bytes: None,
            burst,
            close_after,
            hold_back_ms,
            tools: ToolFilter::new(),
            launch: Launch::default(),
        }
    }

    /// Which tools the client may see and call. Default: all.
    pub fn tools(&self) -> &ToolFilter {
        &self.tools
    }

    /// How the server is started.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// The limits of the wire, with the largest frame and the greatest depth that were set.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Most bytes of text scanned in one frame; at least 1, at most the largest frame.
    ///
    /// Bounds the work that one frame can ask for. A frame with more text is not passed on
    /// unscanned: it counts as `frame.too-large`. Default: the largest frame, so that nothing is
    /// refused for it.
    pub fn max_content_bytes(&self) -> usize {
        let max_frame_bytes = self.limits.max_frame_bytes();
        self.max_content_bytes.unwrap_or(max_frame_bytes).min(max_frame_bytes)
    }

    /// How many notifications a server may send at once.
    pub fn burst(&self) -> Burst {
        self.burst
    }

    /// After how many blocked findings of `session.*` the session is closed, if it is.
    ///
    /// Default: 8 under `strict`, never under the others.
    pub fn close_after(&self) -> Option<u32> {
        self.close_after
    }

    /// Time that a message which the server sends on its own right after an answer is held back.
    ///
    /// The message is dropped if the rest of the answer comes within that time: then content has ended
    /// the answer too early, and wrote the message itself. Default: 2 ms, under `strict` 20 ms, under
    /// `observe` none.
    pub fn hold_back(&self) -> Duration {
        Duration::from_millis(self.hold_back_ms.into())
    }
}

/// A budget of notifications: `count` at once, refilled evenly over `window`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Burst {
    pub(super) count: u32,
    pub(super) window_ms: u32,
}

impl Burst {
    /// The greatest count.
    pub const MAX_COUNT: u32 = 1 << 20;
    /// The longest window in milliseconds.
    pub const MAX_WINDOW_MS: u32 = 3_600_000;

    /// 256 at once, 128 a second.
    pub(super) const BALANCED: Self = Self { count: 256, window_ms: 2000 };
    /// 64 at once, 32 a second.
    pub(super) const STRICT: Self = Self { count: 64, window_ms: 2000 };

    /// Most notifications at once; at least 1.
    ///
    /// Bounds what a flood can make a client do. What is over it is coalesced or dropped, and
    /// counted; answers never are. Default: 256, under `strict` 64.
    pub fn count(self) -> u32 {
        self.count
    }

    /// How long it takes until a budget used up is whole again; never zero.
    ///
    /// Default: 2 s, which refills 128 a second, under `strict` 32.
    pub fn window(self) -> Duration {
        Duration::from_millis(self.window_ms.into())
    }
}
