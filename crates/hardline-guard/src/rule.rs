//! The rules by name, and what each profile does about them unless a policy says otherwise.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::finding::Severity;

/// What is done about a finding.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_enums, reason = "a contract: policies are written with these five")]
pub enum Action {
    /// Nothing; it is not reported either.
    Allow,
    /// It is reported, and the frame goes on unchanged.
    Log,
    /// What was found is made harmless, and the frame goes on.
    Sanitize,
    /// The frame does not go on. Whoever waits for it gets an error.
    Block,
    /// The frame does not go on, and the session ends.
    Close,
}

impl Action {
    /// All of them, mildest first.
    pub const ALL: [Self; 5] = [Self::Allow, Self::Log, Self::Sanitize, Self::Block, Self::Close];

    /// Its name in policies: `allow`, `log`, `sanitize`, `block` or `close`.
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

macro_rules! rules {
    ($($variant:ident = $name:literal, $severity:ident, $balanced:ident, $strict:ident, $title:literal;)*) => {
        /// A rule.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $title] $variant,)*
        }

        impl Rule {
            /// All of them, layer by layer.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name, `layer.rule`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// How bad a finding of it is, unless it says otherwise.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// What it finds, in a few words.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            /// What the profile `balanced` does, for frames from the server.
            pub const fn balanced(self) -> Action {
                match self { $(Self::$variant => Action::$balanced,)* }
            }

            /// What the profile `strict` does, for frames from the server.
            pub const fn strict(self) -> Action {
                match self { $(Self::$variant => Action::$strict,)* }
            }
        }
    };
}

rules! {
    FrameNotJson = "frame.not-json", High, Block, Block, "a line that is meant as a message and is no strict JSON";
    FrameConcatenated = "frame.concatenated", High, Block, Block, "several values on one line";
    FrameDuplicateKey = "frame.duplicate-key", High, Block, Block, "an object with the same key twice";
    FrameAmbiguousKey = "frame.ambiguous-key", High, Block, Block, "keys of the envelope that differ in case alone, or fold to one";
    FrameInvalidUtf8 = "frame.invalid-utf8", High, Block, Block, "bytes that are no UTF-8";
    FrameLoneSurrogate = "frame.lone-surrogate", Medium, Sanitize, Block, "half of a surrogate pair";
    FrameControlCharacter = "frame.control-character", High, Block, Block, "a raw control character in a string";
    FrameBom = "frame.bom", Low, Log, Log, "a byte order mark before a line";
    FrameTooLarge = "frame.too-large", High, Block, Block, "a frame over the size limit";
    FrameTooDeep = "frame.too-deep", High, Block, Block, "nesting over the depth limit";
    FrameNotJsonrpc = "frame.not-jsonrpc", High, Block, Block, "JSON that is no JSON-RPC message";
    FrameContentLength = "frame.content-length", High, Block, Block, "a Content-Length header between lines";
    FrameNoise = "frame.noise", Low, Block, Block, "a log line on standard output";
    FrameSplit = "frame.split", High, Sanitize, Sanitize, "a message that raw newlines tore apart";
    SessionUnsolicitedResponse = "session.unsolicited-response", High, Block, Block, "an answer to a request that nobody made";
    SessionDuplicateResponse = "session.duplicate-response", High, Block, Block, "a second answer to one request";
    SessionIdType = "session.id-type", High, Block, Block, "an answer whose id has another type than the request's";
    SessionDuplicateId = "session.duplicate-id", High, Block, Block, "a request with an id that is in flight";
    SessionWrongDirection = "session.wrong-direction", High, Block, Block, "a method that this side may not send";
    SessionCapability = "session.capability", High, Block, Block, "a method whose capability was not negotiated";
    SessionLifecycle = "session.lifecycle", High, Block, Block, "a message that this part of the session does not have";
    SessionUnknownMethod = "session.unknown-method", Low, Allow, Log, "a method in no table";
    SessionBurst = "session.burst", Medium, Block, Block, "more notifications than anybody needs";
    ContentFrame = "content.frame", Critical, Sanitize, Block, "a line of text that is a JSON-RPC message on its own";
    ContentEncodedFrame = "content.encoded-frame", High, Sanitize, Block, "such a line behind an encoding";
    ContentJsonrpc = "content.jsonrpc", Low, Allow, Log, "a JSON-RPC object that is not on a line of its own";
    ContentControl = "content.control", High, Sanitize, Block, "control characters and terminal escapes in text";
    ContentLineSeparator = "content.line-separator", Low, Allow, Sanitize, "a character that some readers take for a line end";
    ContentHidden = "content.hidden", High, Sanitize, Block, "characters that people do not see and models read";
    ContentContentLength = "content.content-length", Low, Allow, Log, "a Content-Length header in text";
    ToolChanged = "tool.changed", High, Log, Block, "a tool that is not what was pinned, or instructions that are not";
    ToolNew = "tool.new", Low, Log, Block, "a tool that was not there when the server was pinned";
    ToolShadow = "tool.shadow", Medium, Log, Block, "two tools with one name, or with names that look alike";
    ToolPoison = "tool.poison", High, Log, Block, "hidden characters or frames in a tool's description";
    LaunchProgram = "launch.program", High, Block, Block, "a server whose program is not on the list of those allowed";
    LaunchInlineCode = "launch.inline-code", Medium, Log, Block, "a server whose command line is code";
    LaunchChanged = "launch.changed", Medium, Log, Block, "a server whose executable is not the one of before";
}

impl Rule {
    /// The part before the dot.
    pub fn layer(self) -> &'static str {
        self.name().split_once('.').map_or("", |(layer, _)| layer)
    }
}

impl Rule {
    /// Whether its findings belong to no tool: those about bytes, sessions and starts.
    pub fn is_without_tool(self) -> bool {
        matches!(self.layer(), "frame" | "session" | "launch")
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

/// A name that is none of a rule.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("no such rule")]
#[non_exhaustive]
pub struct UnknownRule;
