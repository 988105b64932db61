//! Every limit of the wire in one place: its purpose, its reason, the behavior at the limit, its
//! default.
//!
//! [`Limits`] is valid by construction: each value lies between 1 and a ceiling, so no setting
//! disables a bound. The module that holds a resource enforces its limit.

use std::time::Duration;

use thiserror::Error;

/// Default length limit of a frame. The defaults of other limits derive from it; setting
/// `max_frame_bytes` does not change them.
pub const DEFAULT_FRAME_BYTES: usize = 16 << 20;
/// Greatest length limit of a frame that can be set, 1 GiB.
pub const FRAME_BYTES_CEILING: usize = 1 << 30;
/// Time that stands for "no limit" where an instant is computed: longer than any wait, and short enough
/// to add to a clock.
pub const FOREVER: Duration = Duration::from_secs(1 << 30);
/// Room that an event has beside the longest frame, for its other fields.
const EVENT_FIELD_BYTES: usize = 1 << 20;

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident, $with:ident: $type:ty = $default:expr, at most $ceiling:expr;)*) => {
        /// The bounds that one connection obeys.
        #[derive(Clone, Debug, Eq, PartialEq)]
        pub struct Limits {
            $($name: $type,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl Limits {
            $(
                $(#[$doc])*
                #[doc = concat!("\n\nDefault: `", stringify!($default), "`; at most `", stringify!($ceiling), "`.")]
                pub const fn $name(&self) -> $type {
                    self.$name
                }

                #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
                ///
                /// # Errors
                ///
                /// [`LimitError`] if the value is zero or over its ceiling.
                pub fn $with(mut self, value: $type) -> Result<Self, LimitError> {
                    const CEILING: $type = $ceiling;
                    // Zero would block all traffic, and a value over the ceiling would bound
                    // nothing.
                    if value == 0 || value > CEILING {
                        return Err(LimitError {
                            name: stringify!($name),
                            value: value as u64,
                            ceiling: CEILING as u64,
                        });
                    }
                    self.$name = value;
                    Ok(self)
                }
            )*
        }
    };
}

limits! {
    /// Length limit of a frame in bytes, without its line end and byte order mark.
    ///
    /// Bounds the memory that one peer can make us buffer. Twice the largest tool results seen in
    /// practice fit. A longer line is reported once as overlong, its bytes are dropped as they
    /// arrive, and the stream continues with the next line. Worst case per framer: this many bytes.
    /// Worst case per [`Checker`](crate::json::Checker): some thirty bytes for each key of the
    /// objects open at once, freed after the frame.
    max_frame_bytes, with_max_frame_bytes: usize = DEFAULT_FRAME_BYTES, at most FRAME_BYTES_CEILING;

    /// Limit on the nesting of arrays and objects; the outermost counts as 1.
    ///
    /// Bounds the recursion of every parser that reads the frame after us: most give up, some
    /// crash, between 128 and a few thousand. A deeper frame is refused as a parse error.
    max_depth, with_max_depth: usize = 128, at most 1 << 16;

    /// Limit on the elements of one batch.
    ///
    /// Bounds the work and the answers that one line can ask for. A larger batch is refused as a
    /// whole. It is also the limit on ids remembered of one overlong line or event.
    max_batch_elements, with_max_batch_elements: usize = 256, at most 1 << 16;

    /// Length limit of an id in bytes of JSON text, quotes and escapes included.
    ///
    /// Bounds the tables of requests in flight, whose keys come from the peer. A request with a
    /// longer id is refused, and the refusal repeats no id.
    max_id_bytes, with_max_id_bytes: usize = 256, at most 1 << 16;

    /// Limit on the requests in flight in one direction.
    ///
    /// For transports. Bounds the tables of requests in flight. A transport answers any further
    /// request with an error: holding it back would deadlock a server that waits for sampling.
    max_in_flight, with_max_in_flight: usize = 1024, at most 1 << 20;

    /// Limit on the bytes of requests in flight in one direction, as written.
    ///
    /// For transports. Bounds the memory that requests of the greatest length can make a service
    /// hold; sixteen of them fit. A transport answers a request that does not fit with an error,
    /// unless it is the only one.
    max_in_flight_bytes, with_max_in_flight_bytes: usize = 16 * DEFAULT_FRAME_BYTES, at most 16 * FRAME_BYTES_CEILING;

    /// Limit on the frames in one queue between a reader and a writer.
    ///
    /// For transports. At the limit the reader waits, and with it the peer.
    max_queue_frames, with_max_queue_frames: usize = 64, at most 1 << 16;

    /// Limit on the bytes in one queue between a reader and a writer; one frame always fits.
    ///
    /// For transports. Sixty-four frames of the greatest length would be a gigabyte, so bytes are
    /// counted too. At the limit the reader waits, and with it the peer.
    max_queue_bytes, with_max_queue_bytes: usize = 4 << 20, at most 1 << 30;

    /// Length limit of an event of an event stream, in bytes of its lines without their ends. A
    /// comment counts only while it is read.
    ///
    /// Bounds the memory that one event can make us buffer, as
    /// [`max_frame_bytes`](Self::max_frame_bytes) does for a line; a frame of that length fits
    /// together with the event's other fields. A longer event is reported once, then skipped to its
    /// end.
    max_event_bytes, with_max_event_bytes: usize = DEFAULT_FRAME_BYTES + EVENT_FIELD_BYTES, at most FRAME_BYTES_CEILING;

    /// Limit on replies without an id in one burst.
    ///
    /// For transports. Two peers that answer each other's replies would never stop; neither would
    /// we against a peer that sends noise. At the limit, bad lines are dropped and reported, not
    /// answered.
    max_anonymous_replies, with_max_anonymous_replies: u32 = 8, at most 1 << 16;

    /// For transports: number of replies without an id that become allowed again each second.
    max_anonymous_replies_per_second, with_max_anonymous_replies_per_second: u32 = 1, at most 1 << 16;
}

/// A value outside the range of a limit. The caller is always the cause.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("{name} must be between 1 and {ceiling}, not {value}")]
#[non_exhaustive]
pub struct LimitError {
    /// Name of the limit.
    pub name: &'static str,
    /// The refused value.
    pub value: u64,
    /// The greatest allowed value; the least is 1.
    pub ceiling: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_zero_and_anything_over_the_ceiling() {
        let limits = Limits::default();
        assert!(limits.clone().with_max_depth(1).is_ok());
        assert!(limits.clone().with_max_depth(1 << 16).is_ok());
        let error = limits.clone().with_max_depth(0).unwrap_err();
        assert_eq!(error.to_string(), "max_depth must be between 1 and 65536, not 0");
        assert!(limits.with_max_frame_bytes(usize::MAX).is_err());
    }

    #[test]
    fn defaults_are_within_their_own_ceilings() {
        let limits = Limits::default();
        let again = limits
            .clone()
            .with_max_frame_bytes(limits.max_frame_bytes())
            .and_then(|it| it.with_max_depth(limits.max_depth()))
            .and_then(|it| it.with_max_batch_elements(limits.max_batch_elements()))
            .and_then(|it| it.with_max_id_bytes(limits.max_id_bytes()))
            .and_then(|it| it.with_max_in_flight(limits.max_in_flight()))
            .and_then(|it| it.with_max_in_flight_bytes(limits.max_in_flight_bytes()))
            .and_then(|it| it.with_max_queue_frames(limits.max_queue_frames()))
            .and_then(|it| it.with_max_queue_bytes(limits.max_queue_bytes()))
            .and_then(|it| it.with_max_event_bytes(limits.max_event_bytes()))
            .and_then(|it| it.with_max_anonymous_replies(limits.max_anonymous_replies()))
            .and_then(|it| {
                it.with_max_anonymous_replies_per_second(limits.max_anonymous_replies_per_second())
            });
        assert_eq!(again, Ok(limits));
    }
}
