//! Writes the events of a session to standard error, rate limited.
//!
//! Invariant: no flood takes the place of an important finding, one that is severe or that blocks.
//! Each rule has a rate limit of its own for these, and so have the events of the session.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use clap::ValueEnum;
use hardline_guard::redact::redact_text;
use hardline_guard::{Action, Found, Rule, Severity};
use hardline_proxy::Notice;
use hardline_transport::process::{forward_stderr, write_stderr};
use hardline_wire::excerpt::Excerpt;
use hardline_wire::message::Message;
use hardline_wire::token_bucket::{RateLimit, TokenBucket};
use tokio::time::Instant;

use crate::terminal::harmless;

/// Limit on a line of server output that is shown, in bytes.
const MAX_LINE_BYTES: usize = 8 << 10;
/// Limit on a method name that is shown, in bytes.
const METHOD_BYTES: usize = 80;
/// Limit on lines about the session: at once, and the time until one more is allowed. Ordinary
/// findings and events have one each.
const MAX_LINES: RateLimit = RateLimit::new(40, Duration::from_millis(250));
/// The same for the important findings of one rule.
const MAX_OF_RULE: RateLimit = RateLimit::new(10, Duration::from_secs(1));
/// Name in a count of lines for all that is no finding.
const OTHER: &str = "other";

/// Amount of detail on standard error.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, ValueEnum)]
pub(super) enum Level {
    /// Nothing
    Off,
    /// Errors that end the session
    Error,
    /// Also findings of severity medium and above, server exits, and audit failures
    Warn,
    /// Also all findings, and server output that is not a message
    Info,
    /// Also every message, without its text
    Debug,
}

/// Formats and writes notices, within rate limits.
#[derive(Debug)]
pub(super) struct Report {
    name: String,
    level: Level,
    /// Limits the ordinary findings.
    lines: TokenBucket,
    /// Limits the notices that are no findings.
    events: TokenBucket,
    /// Limits the important findings of each rule.
    important: HashMap<Rule, TokenBucket>,
    started: Instant,
    /// Number of lines that were left out, by rule.
    withheld: BTreeMap<&'static str, u64>,
}

impl Report {
    pub(super) fn new(name: &str, level: Level) -> Self {
        Self {
            name: name.to_owned(),
            level,
            lines: TokenBucket::new(MAX_LINES),
            events: TokenBucket::new(MAX_LINES),
            important: HashMap::new(),
            started: Instant::now(),
            withheld: BTreeMap::new(),
        }
    }

    /// Returns true if the report shows every message.
    pub(super) fn wants_lines(&self) -> bool {
        self.level == Level::Debug
    }

    pub(super) fn take(&mut self, notice: &Notice<'_>) {
        if self.level < level(notice) {
            return;
        }
        if let Notice::Line(line) = notice {
            let method = match line.message.and_then(Message::method) {
                Some(method) => Excerpt::new(method.as_bytes(), METHOD_BYTES).to_string(),
                None => line.asked.and_then(|asked| asked.method).unwrap_or("no method").to_owned(),
            };
            let (way, bytes, verdict) = (line.direction.name(), line.length, line.verdict.name());
            write(format!("[hardline] {}: {way} {method}, {bytes} bytes, {verdict}", self.name));
            return;
        }
        if let Notice::Noise(line) = notice {
            let name = &self.name;
            let text = format!("[{name} stdout] {}", Excerpt::new(line, MAX_LINE_BYTES));
            // Dropped while too many lines wait, like the server's own standard error.
            forward_stderr(harmless(&text).into_owned());
            return;
        }
        if let Some(text) = self.text(notice) {
            write(text);
        }
    }

    /// Returns the line about a finding, or `None` if the level or the rate limit drops it.
    pub(super) fn found(&mut self, found: &Found) -> Option<String> {
        // Noise is already shown as the line itself.
        if found.finding.rule == Rule::FrameNoise || self.level < level(&Notice::Found(found)) {
            return None;
        }
        self.text(&Notice::Found(found))
    }

    /// Returns a line about the lines that were left out last, if any were.
    pub(super) fn end(&mut self) -> Option<String> {
        let withheld = std::mem::take(&mut self.withheld);
        if withheld.is_empty() {
            return None;
        }
        let sum: u64 = withheld.values().sum();
        let each = withheld.iter().map(|(rule, count)| format!("{rule} {count}"));
        let each = each.collect::<Vec<_>>().join(", ");
        Some(format!("[hardline] {}: {sum} lines were left out: {each}", self.name))
    }

    fn text(&mut self, notice: &Notice<'_>) -> Option<String> {
        let (bucket, rule) = match notice {
            Notice::Found(found) => {
                let rule = found.finding.rule;
                let of_rule = || TokenBucket::new(MAX_OF_RULE);
                let bucket = if is_important(found) {
                    self.important.entry(rule).or_insert_with(of_rule)
                } else {
                    &mut self.lines
                };
                (bucket, rule.name())
            }
            // The server causes it as often as it likes, like the findings that it counts.
            Notice::Unlisted(_) => (&mut self.lines, OTHER),
            _ => (&mut self.events, OTHER),
        };
        // A hostile server must not fill the client's log.
        if !bucket.try_acquire(self.started.elapsed()) {
            *self.withheld.entry(rule).or_default() += 1;
            return None;
        }
        // Earlier lines that were left out are reported with the next one that is not.
        let mut text = self.end().map(|text| text + "\n").unwrap_or_default();
        let mut notice = notice.to_string();
        // The excerpt of a finding may contain a secret, and clients keep this output in files.
        redact_text(&mut notice);
        // Indentation marks the further lines of one notice.
        let notice = notice.replace('\n', "\n    ");
        text.push_str(&format!("[hardline] {}: {notice}", self.name));
        Some(text)
    }
}

/// Returns true for a finding that people should see in any flood.
fn is_important(found: &Found) -> bool {
    found.finding.severity >= Severity::High || found.action >= Action::Block
}

/// Returns the least verbose level that shows a notice.
fn level(notice: &Notice<'_>) -> Level {
    match notice {
        Notice::Line(_) => Level::Debug,
        Notice::Found(found) if found.finding.severity < Severity::Medium => Level::Info,
        Notice::Noise(_) | Notice::Restored | Notice::Confined(_) => Level::Info,
        Notice::Closed(_) | Notice::Unwritable(_) | Notice::OtherVersion(_) => Level::Error,
        _ => Level::Warn,
    }
}

/// Queues a line for standard error, escaped, without waiting.
pub(super) fn write(text: String) {
    write_stderr(harmless(&text).into_owned());
}

#[cfg(test)]
mod tests {
    use hardline_guard::{Direction, Finding};

    use super::*;

    fn found(rule: Rule, severity: Severity, action: Action) -> Found {
        let mut finding = Finding::new(rule, Direction::ServerToClient, "", "");
        finding.severity = severity;
        Found::new(finding, action)
    }

    /// Passes findings until one is left out. Returns the number of those before.
    fn flood(report: &mut Report, found: &Found) -> usize {
        (0..10_000).take_while(|_| report.found(found).is_some()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn no_flood_takes_the_place_of_an_important_finding() {
        let mut report = Report::new("files", Level::Info);
        let low = found(Rule::ContentJsonrpc, Severity::Low, Action::Log);
        let planted = found(Rule::ContentFrame, Severity::Critical, Action::Sanitize);
        let blocked = found(Rule::SessionBurst, Severity::Medium, Action::Block);
        let other = found(Rule::FrameSplit, Severity::High, Action::Log);
        assert_eq!(flood(&mut report, &low), 40);
        assert_eq!(flood(&mut report, &low), 0);
        // Each of the others has room, and the first one says what is missing before it.
        let text = report.found(&planted).unwrap();
        let missing = "[hardline] files: 2 lines were left out: content.jsonrpc 2\n";
        assert!(text.starts_with(missing) && text.contains("content.frame"), "{text}");
        assert_eq!(flood(&mut report, &planted), 9);
        assert_eq!(flood(&mut report, &blocked), 10);
        assert!(report.found(&other).unwrap().contains("frame.split"));
        let ended = Notice::Closed(Rule::FrameSplit);
        assert!(report.text(&ended).is_some());
        for _ in 0..3 {
            flood(&mut report, &planted);
            flood(&mut report, &low);
        }
        let counts = "6 lines were left out: content.frame 3, content.jsonrpc 3";
        assert_eq!(report.end().unwrap(), format!("[hardline] files: {counts}"));
        assert_eq!(report.end(), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(flood(&mut report, &planted), 1);
    }
}
