//! The names of all rules, and the default action of each profile for them.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::finding::Severity;
use crate::scan::content_length;
use crate::scan::pattern::Pattern;

/// The action that the guard takes on a finding.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_enums, reason = "a contract: policies are written with these five")]
pub enum Action {
    /// Passes the frame on and does not report the finding.
    Allow,
    /// Reports the finding and passes the frame on unchanged.
    Log,
    /// Makes the match harmless and passes the frame on.
    Sanitize,
    /// Stops the frame. A peer that waits for it receives an error.
    Block,
    /// Stops the frame and ends the session.
    Close,
}

impl Action {
    /// All actions, mildest first.
    pub const ALL: [Self; 5] = [Self::Allow, Self::Log, Self::Sanitize, Self::Block, Self::Close];

    /// Returns the name used in policies: `allow`, `log`, `sanitize`, `block` or `close`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Log => "log",
            Self::Sanitize => "sanitize",
            Self::Block => "block",
            Self::Close => "close",
        }
    }
}

/// A property by which the guard treats a rule differently from others of its group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Trait {
    /// Matches JSON-RPC in content: the setting `allow_jsonrpc` applies to it.
    Jsonrpc,
    /// Matches a message that a reader may act on: never passes where it cannot be edited.
    Message,
    /// Takes adjacent characters for one match.
    Run,
    /// Poisons the definition of a tool, if the finding is severe.
    Poison,
    /// The profile `balanced` only logs findings below `high`.
    BalancedLogsLow,
    /// The profile `strict` only logs findings below `high`.
    StrictLogsLow,
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Action {
    type Err = UnknownAction;

    fn from_str(name: &str) -> Result<Self, UnknownAction> {
        Self::ALL.into_iter().find(|it| it.name() == name).ok_or(UnknownAction)
    }
}

/// Error returned when a string is not the name of an action.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("no such action: there are allow, log, sanitize, block and close")]
#[non_exhaustive]
pub struct UnknownAction;

macro_rules! rules {
    ($($variant:ident = $name:literal, $severity:ident, $balanced:ident, $strict:ident, $title:literal
        $(, traits [$($trait:ident),*])? $(, word $pattern:path)?;)*) => {
        /// A rule that the guard checks.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $title] $variant,)*
        }

        impl Rule {
            /// All rules, group by group.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the name, `group.rule`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the default severity of a finding; a finding may override it.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// Returns a short description of what the rule matches.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            /// Returns the handwritten part of the documentation: the file of this name in `explain`.
            pub(crate) const fn prose(self) -> &'static str {
                match self { $(Self::$variant => include_str!(concat!("explain/", $name, ".md")),)* }
            }

            const fn traits(self) -> &'static [Trait] {
                match self { $(Self::$variant => &[$($(Trait::$trait),*)?],)* }
            }

            /// Returns the action of the profile `balanced` for frames from the server.
            pub const fn balanced(self) -> Action {
                match self { $(Self::$variant => Action::$balanced,)* }
            }

            /// Returns the action of the profile `strict` for frames from the server.
            pub const fn strict(self) -> Action {
                match self { $(Self::$variant => Action::$strict,)* }
            }
        }

        /// The rules that find a word, with their patterns.
        pub(crate) const PATTERNS: &[(Rule, Pattern)] =
            &[$($((Rule::$variant, $pattern),)?)*];
    };
}

// One row per rule: name, severity, action of `balanced`, action of `strict`, title. The file
// `explain/NAME.md` documents it. A rule that finds a word also names its pattern.
rules! {
    FrameNotJson = "frame.not-json", High, Block, Block, "a line that is meant as a message but is not strict JSON";
    FrameConcatenated = "frame.concatenated", High, Block, Block, "several values on one line";
    FrameDuplicateKey = "frame.duplicate-key", High, Block, Block, "an object with the same key twice";
    FrameAmbiguousKey = "frame.ambiguous-key", High, Block, Block, "envelope keys that differ in case alone, or that case folding makes equal";
    FrameInvalidUtf8 = "frame.invalid-utf8", High, Block, Block, "bytes that are not valid UTF-8";
    FrameLoneSurrogate = "frame.lone-surrogate", Medium, Sanitize, Block, "half of a surrogate pair";
    FrameControlCharacter = "frame.control-character", High, Block, Block, "a raw control character in a string";
    FrameBom = "frame.bom", Low, Log, Log, "a byte order mark before a line";
    FrameTooLarge = "frame.too-large", High, Block, Block, "a frame over the size limit";
    FrameTooDeep = "frame.too-deep", High, Block, Block, "nesting over the depth limit";
    FrameNotJsonrpc = "frame.not-jsonrpc", High, Block, Block, "JSON that is not a JSON-RPC message";
    FrameContentLength = "frame.content-length", High, Block, Block, "a Content-Length header between lines";
    FrameNoise = "frame.noise", Low, Block, Block, "a log line on standard output";
    FrameSplit = "frame.split", High, Sanitize, Sanitize, "a message that raw newlines split into several lines";
    SessionUnsolicitedResponse = "session.unsolicited-response", High, Block, Block, "an answer without a matching request";
    SessionDuplicateResponse = "session.duplicate-response", High, Block, Block, "a second answer to one request";
    SessionIdType = "session.id-type", High, Block, Block, "an answer whose id has a different type than the request's";
    SessionDuplicateId = "session.duplicate-id", High, Block, Block, "a request with the id of a request in flight";
    SessionWrongDirection = "session.wrong-direction", High, Block, Block, "a method that this side may not send";
    SessionCapability = "session.capability", High, Block, Block, "a method whose capability was not negotiated";
    SessionLifecycle = "session.lifecycle", High, Block, Block, "a message that is not allowed in this phase of the session";
    SessionUnknownMethod = "session.unknown-method", Low, Allow, Log, "a method that no version of MCP defines";
    SessionBurst = "session.burst", Medium, Block, Block, "more notifications than the burst limit allows";
    ContentFrame = "content.frame", Critical, Sanitize, Block, "a line of text that is a JSON-RPC message on its own",
        traits [Jsonrpc, Message, Poison, BalancedLogsLow, StrictLogsLow];
    ContentEncodedFrame = "content.encoded-frame", High, Sanitize, Block, "an encoded JSON-RPC message in text",
        traits [Jsonrpc, Message, Poison, BalancedLogsLow];
    ContentJsonrpc = "content.jsonrpc", Low, Allow, Log, "a JSON-RPC object that is not on a line of its own", traits [Jsonrpc];
    ContentControl = "content.control", High, Sanitize, Block, "control characters and terminal escapes in text", traits [Run, Poison];
    ContentLineSeparator = "content.line-separator", Low, Allow, Sanitize, "a character that some readers treat as a line end";
    ContentHidden = "content.hidden", High, Sanitize, Block, "characters that people do not see but models read", traits [Poison, BalancedLogsLow];
    ContentContentLength = "content.content-length", Low, Allow, Log, "a Content-Length header in text", word content_length::PATTERN;
    ToolChanged = "tool.changed", High, Log, Block, "a tool, or a server's instructions, that changed since pinning";
    ToolNew = "tool.new", Low, Log, Block, "a tool that did not exist when the server was pinned";
    ToolShadow = "tool.shadow", Medium, Log, Block, "two tools with the same name, or with names that look alike";
    ToolPoison = "tool.poison", High, Log, Block, "hidden characters or frames in a tool's description";
    LaunchProgram = "launch.program", High, Block, Block, "a server whose program is not on the list of allowed programs";
    LaunchInlineCode = "launch.inline-code", Medium, Log, Block, "a server whose command line contains code";
    LaunchChanged = "launch.changed", Medium, Log, Block, "a server whose executable changed since the last start";
}

impl Rule {
    /// Returns the part of the name before the dot.
    pub fn group(self) -> &'static str {
        self.name().split_once('.').map_or("", |(group, _)| group)
    }
}

impl Rule {
    /// Returns true if the rule has a property.
    pub(crate) fn has(self, it: Trait) -> bool {
        self.traits().contains(&it)
    }

    /// Returns true if findings of this rule never belong to a tool: rules about bytes, sessions
    /// and starts.
    pub fn is_without_tool(self) -> bool {
        // Only content and tool lists belong to a tool.
        matches!(self.group(), "frame" | "session" | "launch")
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Rule {
    type Err = UnknownRule;

    fn from_str(name: &str) -> Result<Self, UnknownRule> {
        Self::ALL.iter().copied().find(|it| it.name() == name).ok_or(UnknownRule)
    }
}

/// Error returned when a string is not the name of a rule.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("no such rule")]
#[non_exhaustive]
pub struct UnknownRule;
