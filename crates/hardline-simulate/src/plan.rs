//! A session as data: every line, byte, pause and end, written down before it is played.
//!
//! A plan contains the bytes themselves and not the choices that led to them. So it can be shrunk
//! byte by byte, and a plan in a corpus keeps its meaning when the generators change.

use std::fmt::{self, Write};
use std::str::FromStr;

use hardline_guard::policy::Profile;

/// One session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Plan {
    /// The policy of the relay.
    pub profile: Profile,
    /// Limit on the length of a frame, if it is not the relay's default.
    pub max_frame_bytes: Option<usize>,
    /// True if neither side does anything wrong. Every line must then arrive as it was sent.
    pub is_honest: bool,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One event of a session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Step {
    /// The client sends a line, given without its line end.
    Client(Vec<u8>),
    /// The client answers every request of the server that it has not answered yet.
    Reply,
    /// The client sends the text that it read last back, in a call that writes a file.
    Echo {
        /// Id of the call, as JSON.
        id: String,
        /// The part that it sends back.
        part: Part,
        /// True if its lines end with a carriage return and a newline.
        has_returns: bool,
        /// The text as the server sent it, before any edit of the relay.
        document: String,
    },
    /// The server writes bytes, which the relay receives in one read.
    Server {
        /// Number of the output that the bytes belong to. A shrinker removes whole outputs.
        output: u32,
        /// The bytes.
        bytes: Vec<u8>,
        /// Ids, as JSON, of the requests that the output up to here was meant to answer. The relay
        /// owes each of them an answer from now on.
        meant: Vec<String>,
    },
    /// Milliseconds in which nothing happens and there is nothing to read.
    Pause(u64),
    /// The server ends, with code 0 or 1.
    End {
        /// True for code 0.
        is_success: bool,
    },
}

/// The part of a text that a client sends back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    /// All of it.
    All,
    /// One line.
    Line(usize),
    /// One line, inside a text of the client's own.
    Within(usize),
    /// All of it, with one line changed.
    Changed(usize),
    /// The bytes from one position to another, or fewer to keep characters whole.
    Cut(usize, usize),
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => out.write_str("all"),
            Self::Line(line) => write!(out, "{line}"),
            Self::Within(line) => write!(out, "within:{line}"),
            Self::Changed(line) => write!(out, "changed:{line}"),
            Self::Cut(start, end) => write!(out, "{start}..{end}"),
        }
    }
}

impl FromStr for Part {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let number = |text: &str| {
            let error = |_| PlanError(format!("{text:?} is not a part of a text"));
            text.parse::<usize>().map_err(error)
        };
        if text == "all" {
            Ok(Self::All)
        } else if let Some(line) = text.strip_prefix("within:") {
            number(line).map(Self::Within)
        } else if let Some(line) = text.strip_prefix("changed:") {
            number(line).map(Self::Changed)
        } else if let Some((start, end)) = text.split_once("..") {
            Ok(Self::Cut(number(start)?, number(end)?))
        } else {
            number(text).map(Self::Line)
        }
    }
}

/// Error returned for a text that is not a plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PlanError(String);

impl fmt::Display for PlanError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "not a plan: {}", self.0)
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// Formats the plan for people, one step per line.
    pub fn describe(&self) -> String {
        let mut text = format!("  {}\n", self.header());
        for step in &self.steps {
            let _ = writeln!(text, "  {step}");
        }
        text
    }

    fn header(&self) -> String {
        let profile = match self.profile {
            Profile::Observe => "observe",
            Profile::Strict => "strict",
            _ => "balanced",
        };
        let limit = self.max_frame_bytes.map(|it| format!(" frame={it}")).unwrap_or_default();
        format!("{profile}{limit}{}", if self.is_honest { " honest" } else { "" })
    }
}

/// Formats the plan on one line: its policy and its steps, separated by tabs.
impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.header())?;
        for step in &self.steps {
            write!(out, "\t{step}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(line) => write!(out, "client {}", escape(line)),
            Self::Reply => out.write_str("reply"),
            Self::Echo { id, part, has_returns, document } => {
                let ends = if *has_returns { "+crlf" } else { "" };
                write!(out, "echo {id} {part}{ends} {}", escape(document.as_bytes()))
            }
            Self::Server { output, bytes, meant } if meant.is_empty() => {
                write!(out, "server {output} {}", escape(bytes))
            }
            Self::Server { output, bytes, meant } => {
                write!(out, "server {output}={} {}", meant.join(","), escape(bytes))
            }
            Self::Pause(time) => write!(out, "pause {time}"),
            Self::End { is_success: true } => out.write_str("end 0"),
            Self::End { is_success: false } => out.write_str("end 1"),
        }
    }
}

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let mut parts = text.split('\t');
        let mut words = parts.next().unwrap_or_default().split(' ');
        let profile = match words.next() {
            Some("observe") => Profile::Observe,
            Some("balanced") => Profile::Balanced,
            Some("strict") => Profile::Strict,
            other => return Err(PlanError(format!("there is no profile {other:?}"))),
        };
        let (mut max_frame_bytes, mut is_honest) = (None, false);
        for word in words {
            match word.strip_prefix("frame=").map(str::parse) {
                Some(Ok(limit)) => max_frame_bytes = Some(limit),
                // Absent settings have their defaults, so older plans stay valid.
                None if word == "honest" => is_honest = true,
                _ => return Err(PlanError(format!("{word:?} is not a setting"))),
            }
        }
        let steps = parts.map(str::parse).collect::<Result<_, _>>()?;
        Ok(Self { profile, max_frame_bytes, is_honest, steps })
    }
}

impl FromStr for Step {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let error = || PlanError(format!("{text:?} is not a step"));
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        Ok(match word {
            "client" => Self::Client(unescape(rest).ok_or_else(error)?),
            "reply" => Self::Reply,
            "echo" => {
                let (id, rest) = rest.split_once(' ').ok_or_else(error)?;
                let (part, document) = rest.split_once(' ').ok_or_else(error)?;
                let without = part.strip_suffix("+crlf");
                let document = unescape(document).and_then(|it| String::from_utf8(it).ok());
                Self::Echo {
                    id: id.to_owned(),
                    part: without.unwrap_or(part).parse()?,
                    has_returns: without.is_some(),
                    document: document.ok_or_else(error)?,
                }
            }
            "server" => {
                let (output, bytes) = rest.split_once(' ').ok_or_else(error)?;
                // `server 3=7,"a" …`: output 3, which was meant to answer 7 and "a".
                let (output, meant) = output.split_once('=').unwrap_or((output, ""));
                let output = output.parse().map_err(|_| error())?;
                let meant = meant.split(',').filter(|it| !it.is_empty());
                let meant = meant.map(str::to_owned).collect();
                Self::Server { output, bytes: unescape(bytes).ok_or_else(error)?, meant }
            }
            "pause" => Self::Pause(rest.parse().map_err(|_| error())?),
            "end" => Self::End { is_success: rest == "0" },
            _ => return Err(error()),
        })
    }
}

fn escape(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            // Bytes outside of ASCII are escaped one by one, because a plan may contain invalid
            // UTF-8.
            0x20..0x7f => text.push(char::from(*byte)),
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
    text
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes().iter();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next()? {
                b'\\' => b'\\',
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'x' => {
                    let digits = [*rest.next()?, *rest.next()?];
                    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
                }
                _ => return None,
            },
            byte => *byte,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(id: &str, part: Part, has_returns: bool, document: &str) -> Step {
        Step::Echo { id: id.to_owned(), part, has_returns, document: document.to_owned() }
    }

    #[test]
    fn a_plan_is_read_back_as_it_was_written() {
        let plan = Plan {
            profile: Profile::Strict,
            max_frame_bytes: Some(1000),
            is_honest: true,
            steps: vec![
                Step::Client(b"{\"a\":\"\\n\xff\x00\t\"}".to_vec()),
                Step::Reply,
                echo("5", Part::Line(2), true, "a\n\u{2028} b"),
                echo("6", Part::All, false, ""),
                echo("7", Part::Within(0), false, "a"),
                echo("8", Part::Changed(1), true, "a"),
                echo("9", Part::Cut(3, 70), false, "a"),
                Step::Server { output: 3, bytes: b"a\r\n\\ b".to_vec(), meant: Vec::new() },
                Step::Server {
                    output: 3,
                    bytes: Vec::new(),
                    meant: vec!["7".into(), "\"a\"".into()],
                },
                Step::Pause(400),
                Step::End { is_success: false },
                Step::End { is_success: true },
            ],
        };
        let text = plan.to_string();
        assert!(!text.contains('\n'));
        assert_eq!(text.parse(), Ok(plan));
        assert!("nonsense".parse::<Plan>().is_err());
        assert!("strict\tserver x y".parse::<Plan>().is_err());
        assert!("strict\techo 1 most a".parse::<Plan>().is_err());
    }
}
