//! Settings of a policy other than actions: sizes, bursts, times, and the closing of sessions.

use std::time::Duration;

use hardline_wire::limits::Limits;

use super::{LaunchPolicy, Profile};
use crate::tools::ToolFilter;

/// The settings for one server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PolicySettings {
    pub(super) limits: Limits,
    pub(super) max_content_bytes: Option<usize>,
    pub(super) burst: FloodSettings,
    pub(super) close_after: Option<u32>,
    pub(super) hold_back_ms: u32,
    pub(super) tools: ToolFilter,
    pub(super) launch: LaunchPolicy,
}

impl PolicySettings {
    /// Limit on `close_after`.
    pub const MAX_CLOSE_AFTER: u32 = 1 << 20;
    /// Limit on `hold_back_ms`.
    pub const MAX_HOLD_BACK_MS: u32 = 10_000;

    /// Returns the settings of `profile`.
    pub fn of(profile: Profile) -> Self {
        let (burst, close_after, hold_back_ms) = match profile {
            Profile::Observe => (FloodSettings::BALANCED, None, 0),
            Profile::Balanced => (FloodSettings::BALANCED, None, 2),
            Profile::Strict => (FloodSettings::STRICT, Some(8), 20),
        };
        Self {
            limits: Limits::default(),
            max_content_bytes: None,
            burst,
            close_after,
            hold_back_ms,
            tools: ToolFilter::new(),
            launch: LaunchPolicy::default(),
        }
    }

    /// Returns the filter for the tools that the client may see and call. Default: all tools.
    pub fn tools(&self) -> &ToolFilter {
        &self.tools
    }

    /// Returns the restrictions on the start of the server.
    pub fn launch(&self) -> &LaunchPolicy {
        &self.launch
    }

    /// Returns the wire limits, including the configured frame size and depth.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the limit on the bytes of text scanned in one frame; at least 1, at most the frame
    /// limit.
    ///
    /// Bounds the work that one frame can cause. A frame with more text is not passed on unscanned:
    /// it counts as `frame.too-large`. Default: the frame limit, so that no frame is refused for
    /// it.
    pub fn max_content_bytes(&self) -> usize {
        let max_frame_bytes = self.limits.max_frame_bytes();
        // A larger value is no error: a frame cannot contain more text than its size.
        self.max_content_bytes.unwrap_or(max_frame_bytes).min(max_frame_bytes)
    }

    /// Returns the limit on the notifications that a server may send at once.
    pub fn burst(&self) -> FloodSettings {
        self.burst
    }

    /// Returns the number of blocked `session.*` findings after which the session is closed, or
    /// `None` if it never is.
    ///
    /// Default: 8 under `strict`, never under the other profiles.
    pub fn close_after(&self) -> Option<u32> {
        self.close_after
    }

    /// Returns the quiet time of the server before the guard passes a message that it holds back: a
    /// request of the server, or a message that it sends on its own right after another one. Zero
    /// holds nothing back.
    ///
    /// The guard drops the message if the rest of another one arrives first: then content ended that
    /// one too early and wrote the message itself. A request waits 20 ms at least, and nothing waits
    /// longer than ten times the value without a reason. Default: 2 ms, under `strict` 20 ms, under
    /// `observe` none.
    pub fn hold_back(&self) -> Duration {
        Duration::from_millis(self.hold_back_ms.into())
    }
}

/// The setting of a policy for the token bucket that limits a server: `count` at once, refilled evenly over `window`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FloodSettings {
    pub(super) count: u32,
    pub(super) window_ms: u32,
}

impl FloodSettings {
    /// Limit on the count.
    pub const MAX_COUNT: u32 = 1 << 20;
    /// Limit on the window in milliseconds.
    pub const MAX_WINDOW_MS: u32 = 3_600_000;

    /// 256 at once, 128 per second.
    pub const BALANCED: Self = Self { count: 256, window_ms: 2000 };
    /// 64 at once, 32 per second.
    pub const STRICT: Self = Self { count: 64, window_ms: 2000 };

    /// Returns the size of the token bucket; at least 1.
    ///
    /// Bounds the effect of a flood on the client. Notifications beyond it are coalesced or
    /// dropped, and counted; answers never are. Default: 256, under `strict` 64.
    pub const fn count(self) -> u32 {
        self.count
    }

    /// Returns the time in which an empty token bucket refills completely; never zero.
    ///
    /// Default: 2 s, which refills 128 per second, under `strict` 32.
    pub const fn window(self) -> Duration {
        Duration::from_millis(self.window_ms as u64)
    }
}
