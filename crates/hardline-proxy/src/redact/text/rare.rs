//! Secrets that are some in few places only: in the query of a URL, in an address that lets anybody write,
//! after options of certain programs, in `.netrc`.

use std::ops::Range;

use super::super::value::{is_done, is_placeholder, looks_random};
use super::super::{key, program};
use super::{MAX_NEAR_BYTES, Search, is_blank, is_chunk, is_end};

/// How far after its name an option of a program is looked for.
const MAX_COMMAND_BYTES: usize = 256;
/// As much as is looked at to find out what a machine's password is.
const MAX_MACHINE_BYTES: usize = 512;
/// Shortest value of a URL's query that is taken for a secret by its looks.
const MIN_QUERY_BYTES: usize = 16;
/// Addresses whose paths let anybody write, and how those begin.
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
/// Shortest path of such an address.
const MIN_HOOK_BYTES: usize = 20;
/// Shortest second part of a client's secret of Azure.
const MIN_AZURE_BYTES: usize = 31;
/// Shortest second part of a token of Terraform's, its mark included.
const MIN_ATLAS_BYTES: usize = 40;

impl Search<'_> {
    /// What is a secret in few places only.
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

    /// Whether a key of a URL's query may begin here.
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

    /// Where the path begins that makes an address a secret.
    fn hook(&self, host: &[u8], end: usize) -> Option<usize> {
        let is_one = |(name, path): &&(&[u8], &[u8])| {
            host.ends_with(name) && self.rest(end).starts_with(path)
        };
        HOOKS.iter().find(is_one).map(|(_, path)| end + path.len())
    }

    /// The program whose command line this is a part of.
    fn program_before(&self, at: usize) -> Option<program::Program> {
        let (program, end) = self.program?;
        let between =
            self.text.get(end..at).filter(|it| it.len() <= MAX_COMMAND_BYTES && !is_done(it))?;
        // A line goes on after a backslash.
        let mut newlines = memchr::memchr_iter(b'\n', between);
        let goes_on = |newline: usize| {
            newline.checked_sub(1).and_then(|before| between.get(before)) == Some(&b'\\')
        };
        newlines.all(goes_on).then_some(program)
    }

    /// An option of a program, which may have a secret in it or after it.
    fn option(&mut self, program: program::Program, start: usize, end: usize) -> usize {
        let chunk = self.text.get(start..end).unwrap_or_default();
        let Some(option) = program.option(chunk) else { return end };
        let is_quote = |byte: &u8| b"\"'".contains(byte);
        let is_inside = option.length < chunk.len()
            || self.byte(end).is_some_and(|byte| is_quote(&byte) || !is_end(byte));
        let start = match is_inside {
            true => start + option.length,
            false if option.is_apart => self.end_of(end, is_blank),
            false => return end,
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

    /// Takes note of the secret that is expected, if it begins before `at`. Returns where it ends.
    pub(super) fn hide_expected(&mut self, at: usize) -> usize {
        let Some(secret) = self.expected.take_if(|secret| secret.start <= at) else { return 0 };
        // It may be a part of something that is gone.
        if self.edits.last().is_some_and(|edit| secret.start < edit.end) {
            return 0;
        }
        self.hide(secret.start, secret.end)
    }

    /// The password in `machine HOST login NAME password PASSWORD`, as `.netrc` has it.
    fn machine(&self, start: usize, end: usize) -> Option<Range<usize>> {
        let is_line = start.checked_sub(1).is_none_or(|before| self.byte(before) == Some(b'\n'));
        let is_machine = match self.text.get(start..end)? {
            b"machine" => true,
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
        // Another kind of file has a sign in between.
        let (start, word) =
            next().filter(|(_, word)| !b":=>".iter().any(|sign| word.first() == Some(sign)))?;
        let length = word.iter().take_while(|byte| !is_end(**byte)).count();
        if is_placeholder(word.get(..length)?) || is_done(word) {
            return None;
        }
        Some(end + start..end + start + length)
    }
}

/// Whether it is how a client's secret of Azure begins, up to its `~`.
fn is_azure(chunk: &[u8]) -> bool {
    matches!(chunk, [.., b'0'..=b'9', b'Q'])
}
