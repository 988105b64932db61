//! Secrets in text of any kind: prose, code, configuration, headers, broken JSON.
//!
//! The text is split into chunks of letters, digits, `_`, `-` and `.`, which keys and most secrets
//! consist of. A chunk is a secret by its shape, or a key that is followed by its value, or the
//! scheme of a URL.

mod rare;

use std::borrow::Cow;
use std::ops::Range;

use super::value::{has_both, is_mixed, is_placeholder, is_variable, is_word};
use super::{Edit, REDACTED, apply, key, program, shape};

/// Authentication schemes of HTTP headers.
const SCHEMES: [&str; 7] =
    ["bearer", "basic", "digest", "token", "apikey", "negotiate", "aws4-hmac-sha256"];
/// Shortest token in place of the user of a URL, in bytes.
const MIN_TOKEN_BYTES: usize = 20;
/// Shortest secret after a scheme, in bytes.
const MIN_CREDENTIAL_BYTES: usize = 10;
/// Limit on the bytes examined to recognize a header.
const MAX_NEAR_BYTES: usize = 128;
/// Longest first line of a private key, after `-----BEGIN`.
const MAX_PEM_HEAD_BYTES: usize = 48;

/// Redacts a text.
pub(super) fn redact(text: &[u8]) -> Cow<'_, [u8]> {
    let mut search = Search { text, program: None, expected: None, edits: Vec::new() };
    let mut at = 0;
    while let Some(start) = search.next_chunk(at) {
        at = search.chunk(start);
    }
    search.hide_expected(text.len());
    apply(text, &search.edits)
}

struct Search<'a> {
    text: &'a [u8],
    /// Known program before the current position, and the end of its name.
    program: Option<(program::Program, usize)>,
    /// A secret further on. The text before it is examined first.
    expected: Option<Range<usize>>,
    edits: Vec<Edit>,
}

impl Search<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    fn rest(&self, at: usize) -> &[u8] {
        self.text.get(at..).unwrap_or_default()
    }

    /// Returns the end of the run of matching bytes that begins at `at`.
    fn end_of(&self, at: usize, is_part: impl Fn(u8) -> bool) -> usize {
        at + self.rest(at).iter().take_while(|byte| is_part(**byte)).count()
    }

    /// Returns the run of matching bytes that begins at `at`, at most `most` of them.
    fn near(&self, at: usize, most: usize, is_part: impl Fn(u8) -> bool) -> &[u8] {
        let near = self.rest(at);
        let near = near.get(..most).unwrap_or(near);
        near.split(|byte| !is_part(*byte)).next().unwrap_or_default()
    }

    fn next_chunk(&self, at: usize) -> Option<usize> {
        let start = self.end_of(at, |byte| !is_chunk(byte));
        self.byte(start).map(|first| {
            // In `\nghp_…` the `n` belongs to the escape, not to the secret.
            let before = start.checked_sub(1).and_then(|before| self.byte(before));
            let is_escape = before == Some(b'\\') && b"nrtbf".contains(&first);
            start + if is_escape { 1 } else { self.color_at(start, before) }
        })
    }

    /// Returns the length of the end of a terminal escape: in `ESC[1;33mghp_…` the `33m` is no part of
    /// the secret. Logs show ESC in many ways, so it is not looked for.
    fn color_at(&self, start: usize, before: Option<u8>) -> usize {
        if !matches!(before, Some(b'[' | b';')) {
            return 0;
        }
        let end = self.end_of(start, |byte| byte.is_ascii_digit());
        if matches!(self.byte(end), Some(b'm' | b'K' | b'J' | b'G')) { end + 1 - start } else { 0 }
    }

    /// Hides a secret. Returns the position after it.
    fn hide(&mut self, start: usize, end: usize) -> usize {
        if start < end && self.text.get(start..end) != Some(REDACTED.as_bytes()) {
            self.edits.push(Edit { start, end, with: Cow::Borrowed(REDACTED) });
        }
        end
    }

    /// Examines the chunk that begins at `start` and the text after it. Returns the next position.
    fn chunk(&mut self, start: usize) -> usize {
        let known = self.hide_expected(start);
        if start < known {
            return known;
        }
        let end = self.end_of(start, is_chunk);
        let mut at = start;
        while at < end {
            if let Some(length) = shape::length_at(self.text, at) {
                return self.hide(at, at + length);
            }
            // Continues where the next word begins.
            at = self.end_of(at, |byte| byte.is_ascii_alphanumeric());
            at = self.end_of(at, |byte| is_chunk(byte) && !byte.is_ascii_alphanumeric());
        }
        let chunk = self.text.get(start..end).unwrap_or_default();
        if chunk.ends_with(b"-----BEGIN") {
            return self.private_key(end);
        }
        if self.rest(end).starts_with(b"://") {
            return self.address(end + 3);
        }
        if chunk.eq_ignore_ascii_case(b"bearer") || chunk.eq_ignore_ascii_case(b"basic") {
            return self.credential(end);
        }
        if key::is_secret(chunk) {
            return self.value(start, end);
        }
        self.rarer(start, end)
    }

    /// Hides a private key up to its end, or up to the end of the text.
    fn private_key(&mut self, at: usize) -> usize {
        let head = self.rest(at);
        let head = head.get(..MAX_PEM_HEAD_BYTES).unwrap_or(head);
        if memchr::memmem::find(head, b"PRIVATE KEY").is_none() {
            return at;
        }
        let start = at - "-----BEGIN".len();
        let end = match memchr::memmem::find(self.rest(at), b"-----END") {
            None => self.text.len(),
            Some(last) => {
                let last = at + last + "-----END".len();
                let line = self.rest(last);
                let line = line.get(..MAX_PEM_HEAD_BYTES).unwrap_or(line);
                last + memchr::memmem::find(line, b"-----").map_or(0, |dashes| dashes + 5)
            }
        };
        self.hide(start, end)
    }

    /// Hides the password in a URL, before the host, and a token in place of the user.
    fn address(&mut self, at: usize) -> usize {
        let end =
            self.end_of(at, |byte| !byte.is_ascii_whitespace() && !b"/?#\"'<>\\`".contains(&byte));
        let authority = self.text.get(at..end).unwrap_or_default();
        // Without a user, a colon is followed by a port, or belongs to something else.
        let Some(host) = authority.iter().rposition(|byte| *byte == b'@') else { return at };
        let login = authority.get(..host).unwrap_or_default();
        let colon = login.iter().position(|byte| *byte == b':').unwrap_or(host);
        let (user, password) = login.split_at(colon);
        let has_token = self.is_token(at, user);
        if has_token {
            self.hide(at, at + colon);
        }
        let password = password.get(1..).unwrap_or_default();
        // A `%` also begins an escape; a variable ends with one, too.
        let is_escape = password.first() == Some(&b'%') && !password.ends_with(b"%");
        match password {
            [] => at + if has_token { host } else { 0 },
            _ if is_variable(password) && !is_escape => end,
            _ => self.hide(at + colon + 1, at + host),
        }
    }

    /// Returns true if the user of a URL, which begins at `at`, is a token: services such as GitHub take one
    /// there.
    fn is_token(&self, at: usize, user: &[u8]) -> bool {
        let has_shape = || shape::length_at(self.text, at).is_some();
        !is_variable(user) && (user.len() >= MIN_TOKEN_BYTES && is_mixed(user) || has_shape())
    }

    /// Hides the credential after `Bearer` or `Basic`.
    fn credential(&mut self, at: usize) -> usize {
        let start = self.end_of(at, |byte| byte == b' ');
        let end = self.end_of(start, is_credential);
        let value = self.text.get(start..end).unwrap_or_default();
        // `basic authentication` is prose: a credential is longer than a word and mixed.
        let is_one = at < start && value.len() >= MIN_CREDENTIAL_BYTES && is_mixed(value);
        if is_one { self.hide(start, end) } else { at }
    }

    /// Hides the value after a key.
    fn value(&mut self, start: usize, end: usize) -> usize {
        let (key, before) = (self.text.get(start..end).unwrap_or_default(), start.checked_sub(1));
        let before = before.and_then(|before| self.byte(before));
        // XML: `<password>…</password>`.
        if before == Some(b'<') && self.byte(end) == Some(b'>') {
            let close = self.end_of(end + 1, |byte| byte != b'<');
            return self.hide(end + 1, close);
        }
        // Skips the quote that ends the key, and the blanks around the sign.
        let quoted = self.end_of(end, |byte| b"\\\"'`".contains(&byte));
        let sign = self.end_of(quoted, is_blank);
        let after = self.end_of(sign, |byte| b":=>".contains(&byte));
        if sign == after {
            let is_option = key.starts_with(b"--") && quoted == end && end < sign;
            return if is_option { self.argument(sign) } else { end };
        }
        let is_tight = quoted == sign && self.byte(sign) == Some(b'=');
        let value = self.end_of(after, is_blank);
        let quote = self.end_of(value, |byte| byte == b'\\');
        match self.byte(quote) {
            Some(mark @ (b'"' | b'\'' | b'`')) => self.quoted(quote + 1, mark, quote - value),
            _ if is_header(key) => self.header(value),
            _ => self.unquoted(value, key, is_tight && value == after),
        }
    }

    /// Hides the value after an option and a blank.
    fn argument(&mut self, at: usize) -> usize {
        let end = self.end_of(at, |byte| !is_end(byte));
        let value = self.text.get(at..end).unwrap_or_default();
        if value.starts_with(b"-") || is_placeholder(value) { at } else { self.hide(at, end) }
    }

    /// Hides a value in quotes, which are escaped with the given number of backslashes.
    fn quoted(&mut self, start: usize, mark: u8, backslashes: usize) -> usize {
        let mut at = start;
        let mut run = 0;
        while let Some(byte) = self.byte(at) {
            if byte == mark && (run <= backslashes || (backslashes == 0 && run % 2 == 0)) {
                break;
            }
            // Except for backticks, a string that continues on the next line is broken.
            if byte == b'\n' && mark != b'`' {
                break;
            }
            run = if byte == b'\\' { run + 1 } else { 0 };
            at += 1;
        }
        let end = if self.byte(at) == Some(mark) { at - run.min(backslashes) } else { at };
        let value = self.text.get(start..end).unwrap_or_default();
        if is_placeholder(value) { start } else { self.hide(start, end) }
    }

    /// Hides the rest of a header, if its beginning looks like a credential.
    fn header(&mut self, start: usize) -> usize {
        let is_part = |byte: u8| !b"\r\n\"'\\`".contains(&byte);
        let near = self.near(start, MAX_NEAR_BYTES, is_part);
        let first = near.split(|byte| is_blank(*byte)).next().unwrap_or_default();
        let has_scheme = SCHEMES.iter().any(|it| first.eq_ignore_ascii_case(it.as_bytes()));
        let rest = near.get(first.len()..).unwrap_or_default().trim_ascii();
        let (value, is_one) = if has_scheme {
            (rest, !rest.is_empty() && (!rest.contains(&b' ') || rest.contains(&b'=')))
        } else {
            (near, near.contains(&b'=') || (rest.is_empty() && is_mixed(first)))
        };
        if !is_one || is_variable(value) {
            return start;
        }
        let end = self.end_of(start, is_part);
        self.hide(start, end)
    }

    /// Hides a value without quotes.
    fn unquoted(&mut self, start: usize, key: &[u8], is_tight: bool) -> usize {
        let end = self.end_of(start, |byte| !is_end(byte));
        let value = self.text.get(start..end).unwrap_or_default();
        let is_path = value.starts_with(b"/") || value.starts_with(b"~") || value.starts_with(b".");
        let is_directory = is_path && key.to_ascii_lowercase().ends_with(b"pwd");
        // `token = read()` and `password: $PASSWORD` are code, not values.
        let is_code = value.iter().any(|byte| b"(){}[]$*".contains(byte));
        if value.is_empty() || is_placeholder(value) || is_directory || is_code {
            return start;
        }
        let is_last = matches!(self.byte(end), None | Some(b'\n' | b'\r'));
        // `password: see below` is prose, so a value after a blank must look like a secret.
        let is_secret =
            is_tight || (value.len() >= 6 && has_both(value)) || (is_last && is_word(value));
        if is_secret { self.hide(start, end) } else { start }
    }
}

fn is_chunk(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// Returns true if the value of this key extends to the end of the line.
fn is_header(key: &[u8]) -> bool {
    let key = key.to_ascii_lowercase();
    key.ends_with(b"authorization") || key.ends_with(b"cookie")
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn is_credential(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

/// Returns true for a byte that ends a value without quotes.
fn is_end(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\"'`,;&<>|\\".contains(&byte)
}
