//! Secrets that occur in few places: in the query of a URL, in the address of a webhook, after
//! options of certain programs, in `.netrc`.

use std::ops::Range;

use super::super::value::{is_done, is_placeholder, looks_random};
use super::super::{key, program};
use super::{MAX_NEAR_BYTES, Search, is_blank, is_chunk, is_end};

/// Limit on the distance between a program's name and its option.
const MAX_COMMAND_BYTES: usize = 256;
/// Limit on the bytes examined to find the password of a `.netrc` entry.
const MAX_MACHINE_BYTES: usize = 512;
/// Shortest value in a URL's query that counts as a secret by its looks.
const MIN_QUERY_BYTES: usize = 16;
/// Webhook hosts, and the beginning of their secret paths. A client that knows the path can post
/// there.
const HOOKS: [(&[u8], &[u8]); 9] = [
    (b"hooks.slack.com", b"/services/"),
    (b"hooks.slack.com", b"/workflows/"),
    (b"hooks.slack.com", b"/triggers/"),
    (b"discord.com", b"/api/webhooks/"),
    (b"discordapp.com", b"/api/webhooks/"),
    (b"hooks.zapier.com", b"/hooks/catch/"),
    (b"webhook.office.com", b"/webhookb2/"),
    (b"outlook.office.com", b"/webhook/"),
    (b"chat.googleapis.com", b"/v1/spaces/"),
];
/// Shortest path of a webhook.
const MIN_HOOK_BYTES: usize = 20;
/// Shortest second part of an Azure client secret.
const MIN_AZURE_BYTES: usize = 31;
/// Shortest second part of a Terraform token, including `.atlasv1.`.
const MIN_ATLAS_BYTES: usize = 40;

impl Search<'_> {
    /// Examines a chunk for the kinds of secrets in this file. Returns the next position.
    pub(super) fn rarer(&mut self, start: usize, end: usize) -> usize {
        let chunk = self.text.get(start..end).unwrap_or_default();
        let next = self.byte(end);
        if next == Some(b'=') && self.is_query(start) && key::is_doubtful_query(chunk) {
            return self.query(end + 1);
        }
        if let Some(path) = self.hook(chunk, end) {
            let last = self.end_of(path, |byte| is_chunk(byte) || b"/%~".contains(&byte));
            return if path + MIN_HOOK_BYTES <= last { self.hide(path, last) } else { end };
        }
        if next == Some(b'~') && is_azure(chunk) {
            let last = self.end_of(end, |byte| is_chunk(byte) || byte == b'~');
            return if end + MIN_AZURE_BYTES < last { self.hide(start, last) } else { end };
        }
        if chunk.get(14..23) == Some(b".atlasv1.") && 14 + MIN_ATLAS_BYTES < chunk.len() {
            return self.hide(start, end);
        }
        if chunk.starts_with(b"-")
            && let Some(program) = self.program_before(start)
        {
            return self.option(program, start, end);
        }
        if let Some(program) = program::Program::of(chunk) {
            self.program = Some((program, end));
        } else if let Some(expected) = self.machine(start, end) {
            self.expected = Some(expected);
        }
        end
    }

    /// Returns true if a key of a URL's query may begin here.
    fn is_query(&self, start: usize) -> bool {
        let before = start.checked_sub(1).and_then(|before| self.byte(before));
        before.is_some_and(|byte| b"?&;".contains(&byte))
    }

    fn query(&mut self, start: usize) -> usize {
        let is_part = |byte: u8| !is_end(byte) && byte != b'#';
        let near = self.near(start, MAX_NEAR_BYTES, is_part);
        let is_done = is_done(near) || is_placeholder(near);
        let is_secret = !is_done && looks_random(near, MIN_QUERY_BYTES);
        if is_secret { self.hide(start, self.end_of(start, is_part)) } else { start }
    }

    /// Returns the start of a webhook's secret path.
    fn hook(&self, host: &[u8], end: usize) -> Option<usize> {
        let is_one = |(name, path): &&(&[u8], &[u8])| {
            host.ends_with(name) && self.rest(end).starts_with(path)
        };
        HOOKS.iter().find(is_one).map(|(_, path)| end + path.len())
    }

    /// Returns the program whose command line this position belongs to.
    fn program_before(&self, at: usize) -> Option<program::Program> {
        let (program, end) = self.program?;
        let between =
            self.text.get(end..at).filter(|it| it.len() <= MAX_COMMAND_BYTES && !is_done(it))?;
        // A command continues on the next line only after a backslash.
        let mut newlines = memchr::memchr_iter(b'\n', between);
        let goes_on = |newline: usize| {
            newline.checked_sub(1).and_then(|before| between.get(before)) == Some(&b'\\')
        };
        newlines.all(goes_on).then_some(program)
    }

    /// Examines an option of a program, which may contain a secret or precede one.
    fn option(&mut self, program: program::Program, start: usize, end: usize) -> usize {
        let chunk = self.text.get(start..end).unwrap_or_default();
        let Some(option) = program.option(chunk) else { return end };
        let is_quote = |byte: &u8| b"\"'".contains(byte);
        let is_inside = option.length < chunk.len()
            || self.byte(end).is_some_and(|byte| is_quote(&byte) || !is_end(byte));
        let start = if is_inside {
            start + option.length
        } else if option.is_apart {
            self.end_of(end, is_blank)
        } else {
            return end;
        };
        let quote = self.byte(start).filter(is_quote);
        let start = start + usize::from(quote.is_some());
        let is_part = |byte: u8| match quote {
            Some(quote) => byte != quote && byte != b'\n',
            None => !is_end(byte),
        };
        let near = self.near(start, MAX_COMMAND_BYTES, is_part);
        let secret = option.secret_in(near).map(|from| start + from);
        self.expected = secret.map(|secret| secret..self.end_of(start, is_part));
        end.min(secret.unwrap_or(end))
    }

    /// Hides the expected secret if it begins before `at`. Returns its end, or 0.
    pub(super) fn hide_expected(&mut self, at: usize) -> usize {
        let Some(secret) = self.expected.take_if(|secret| secret.start <= at) else { return 0 };
        // It may be part of a text that is hidden already.
        if self.edits.last().is_some_and(|edit| secret.start < edit.end) {
            return 0;
        }
        self.hide(secret.start, secret.end)
    }

    /// Returns the password in `machine HOST login NAME password PASSWORD`, the format of `.netrc`.
    fn machine(&self, start: usize, end: usize) -> Option<Range<usize>> {
        let is_line = start.checked_sub(1).is_none_or(|before| self.byte(before) == Some(b'\n'));
        let is_machine = match self.text.get(start..end)? {
            b"machine" => true,
            // In prose `default` is common, so it counts only at the beginning of a line.
            b"default" if is_line => false,
            _ => return None,
        };
        let near = self.rest(end);
        let near = near.get(..MAX_MACHINE_BYTES).unwrap_or(near);
        let mut at = 0;
        let mut next = || {
            let rest = near.get(at..)?;
            let start = at + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let word = near.get(start..)?.split(u8::is_ascii_whitespace).next()?;
            at = start + word.len();
            (!word.is_empty()).then_some((start, word))
        };
        if is_machine {
            next().filter(|(_, word)| !is_done(word))?;
        }
        next().filter(|(_, word)| *word == b"login")?;
        next().filter(|(_, word)| !is_done(word))?;
        next().filter(|(_, word)| *word == b"password")?;
        // In `password: x` or `password = x` the next word is a sign; that is not `.netrc`.
        let (start, word) =
            next().filter(|(_, word)| !b":=>".iter().any(|sign| word.first() == Some(sign)))?;
        let length = word.iter().take_while(|byte| !is_end(**byte)).count();
        if is_placeholder(word.get(..length)?) || is_done(word) {
            return None;
        }
        Some(end + start..end + start + length)
    }
}

/// Returns true if a chunk is the beginning of an Azure client secret, up to its `~`.
fn is_azure(chunk: &[u8]) -> bool {
    matches!(chunk, [.., b'0'..=b'9', b'Q'])
}
