//! Secrets recognized by their shape, in any place.

use super::REDACTED;

/// A kind of secret: its prefix, and the minimum number of characters after it.
struct Shape {
    prefix: &'static [u8],
    least: usize,
    /// Characters it may contain besides letters and digits.
    extra: &'static [u8],
    body: Body,
}

/// Test that tells a secret from ordinary words with the same prefix.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Body {
    /// None: no ordinary word has the prefix.
    Any,
    /// A digit or a capital letter near its beginning.
    Mixed,
    /// Exactly the given number of hexadecimal digits, not part of a longer word.
    Hex,
    /// Digits and letters, at most a few more than the minimum, and not part of base64 data, which
    /// can contain the prefix anywhere.
    Alone,
}

const fn shape(prefix: &'static str, least: usize, extra: &'static str, body: Body) -> Shape {
    Shape { prefix: prefix.as_bytes(), least, extra: extra.as_bytes(), body }
}

const fn sure(prefix: &'static str, least: usize, extra: &'static str) -> Shape {
    shape(prefix, least, extra, Body::Any)
}

const fn word(prefix: &'static str, least: usize, extra: &'static str) -> Shape {
    shape(prefix, least, extra, Body::Mixed)
}

const fn hex(prefix: &'static str, length: usize) -> Shape {
    shape(prefix, length, "", Body::Hex)
}

const fn alone(prefix: &'static str, least: usize, extra: &'static str) -> Shape {
    shape(prefix, least, extra, Body::Alone)
}

/// Shapes by first character. A longer prefix comes before a shorter one that it begins with.
static SHAPES: [(u8, &[Shape]); 26] = [
    (
        b's',
        &[
            sure("sk-ant-", 16, "-_"),
            sure("sk-proj-", 16, "-_"),
            word("sk-", 20, "-_"),
            sure("sk_live_", 10, ""),
            sure("sk_test_", 10, ""),
            word("shpat_", 20, ""),
            word("shpss_", 20, ""),
            word("shpca_", 20, ""),
            word("sbp_", 30, "_"),
            word("sntrys_", 30, "_+/=-"),
            word("sntryu_", 30, ""),
            word("secret_", 40, ""),
            word("sb_secret_", 20, "-_"),
            word("sq0csp-", 30, "-_"),
            word("sq0atp-", 20, "-_"),
        ],
    ),
    (
        b'g',
        &[
            sure("ghp_", 20, ""),
            sure("gho_", 20, ""),
            sure("ghu_", 20, ""),
            sure("ghs_", 20, ""),
            sure("ghr_", 20, ""),
            sure("github_pat_", 20, "_"),
            sure("glpat-", 16, "-_."),
            sure("gldt-", 16, "-_"),
            sure("glrt-", 16, "-_."),
            sure("glptt-", 16, "-_"),
            sure("glsoat-", 16, "-_"),
            sure("glcbt-", 16, "-_"),
            sure("glimt-", 16, "-_"),
            sure("glagent-", 16, "-_"),
            word("glsa_", 30, "_"),
            word("glc_", 40, "+/="),
            word("gsk_", 30, ""),
        ],
    ),
    (
        b'x',
        &[
            sure("xoxa-", 10, "-"),
            sure("xoxb-", 10, "-"),
            sure("xoxp-", 10, "-"),
            sure("xoxr-", 10, "-"),
            sure("xoxs-", 10, "-"),
            sure("xoxe-", 10, "-"),
            sure("xoxe.", 10, "-."),
            sure("xapp-", 10, "-"),
            word("xai-", 30, ""),
        ],
    ),
    (
        b'A',
        &[
            word("AKIA", 16, ""),
            word("ASIA", 16, ""),
            word("AIza", 30, "-_"),
            word("AGE-SECRET-KEY-1", 20, ""),
            word("ATATT3x", 24, "-_="),
            word("ATCTT3x", 24, "-_="),
            alone("ATBB", 28, ""),
        ],
    ),
    (
        b'p',
        &[
            word("pypi-", 30, "-_"),
            word("pplx-", 40, ""),
            word("pcsk_", 30, "_"),
            word("pscale_tkn_", 30, "-_."),
            word("pscale_pw_", 30, "-_."),
            word("pscale_oauth_", 30, "-_."),
            word("pat-na1-", 30, "-"),
            word("pat-na2-", 30, "-"),
            word("pat-eu1-", 30, "-"),
            word("pat-ap1-", 30, "-"),
            word("pat", 70, "."),
        ],
    ),
    (
        b'd',
        &[
            word("dop_v1_", 30, ""),
            word("doo_v1_", 30, ""),
            word("dckr_pat_", 20, "-_"),
            word("dp.pt.", 30, ""),
            word("dp.st.", 30, "._-"),
            word("dp.ct.", 30, ""),
            word("dp.sa.", 30, ""),
            hex("dapi", 32),
        ],
    ),
    (
        b'n',
        &[
            word("npm_", 30, ""),
            word("nvapi-", 30, "-_"),
            word("ntn_", 30, ""),
            word("nfp_", 30, ""),
        ],
    ),
    (b'h', &[word("hf_", 30, ""), word("hvs.", 20, "-_")]),
    (
        b'f',
        &[
            word("figd_", 20, "-_"),
            word("fm2_", 24, "+/=_-"),
            word("fm1r_", 24, "+/=_-"),
            hex("fc-", 32),
            word("fo1_", 30, "-_"),
        ],
    ),
    (b'r', &[sure("rk_live_", 10, ""), sure("rk_test_", 10, ""), word("r8_", 30, "")]),
    (b'l', &[word("lin_api_", 20, ""), word("lsv2_", 30, "_")]),
    (
        b't',
        &[
            word("tvly-", 20, "-"),
            word("tskey-auth-", 16, "-"),
            word("tskey-api-", 16, "-"),
            word("tskey-client-", 16, "-"),
        ],
    ),
    (b'w', &[word("whsec_", 16, "+/=")]),
    (b'y', &[word("ya29.", 20, "-_.")]),
    (b'S', &[word("SG.", 32, "-_."), word("SSWS ", 24, "-_"), hex("SK", 32)]),
    (b'N', &[word("NRAK-", 20, ""), word("NRJS-", 16, "")]),
    (b'k', &[hex("key-", 32)]),
    (b'v', &[word("vercel_blob_rw_", 20, "_"), word("v1.0-", 40, "-_")]),
    (b'G', &[word("GOCSPX-", 20, "-_")]),
    (b'P', &[word("PMAK-", 40, "-")]),
    (b'H', &[word("HRKU-", 30, "-_")]),
    (b'E', &[alone("EAAA", 56, "-_")]),
    (b'B', &[alone("BSA", 24, "-_")]),
    (b'F', &[word("FlyV1 ", 24, "+/=_-")]),
    (b'1', &[word("1//0", 30, "-_")]),
    (b'e', &[word("eyJ", 24, "-_.")]),
];

/// Number of bytes searched for a digit or a capital letter.
const NEAR_BYTES: usize = 64;
/// Limit on the bytes over the minimum, for secrets whose prefix alone is not convincing.
const MAX_SPARE_BYTES: usize = 12;

/// Returns the length of the secret that begins at `start`, where a word begins.
pub(super) fn length_at(text: &[u8], start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    let first = rest.first()?;
    let before = start.checked_sub(1).and_then(|before| text.get(before));
    // Grouped by first byte, so that most words are rejected without comparing prefixes.
    let of_first = SHAPES.iter().find(|(it, _)| it == first).map_or(&[][..], |(_, shapes)| *shapes);
    let shape = of_first.iter().find(|shape| rest.starts_with(shape.prefix));
    let length = match shape {
        Some(shape) => of_shape(shape, rest, before)?,
        None => in_parts(rest, *first)?,
    };
    // A secret of limited length that is followed by a redacted part was longer, and so is not one.
    let is_bounded = shape.is_none_or(|shape| matches!(shape.body, Body::Hex | Body::Alone));
    let is_cut = is_bounded && rest.get(length..)?.starts_with(REDACTED.as_bytes());
    (!is_cut).then_some(length)
}

fn of_shape(shape: &Shape, rest: &[u8], before: Option<&u8>) -> Option<usize> {
    // A web token does not begin inside another candidate, so that no byte is examined twice.
    if shape.prefix == b"eyJ" && before.is_some_and(|byte| b"-_.".contains(byte)) {
        return None;
    }
    let body = rest.get(shape.prefix.len()..)?;
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || shape.extra.contains(byte);
    // Only the near bytes are examined first, so that a long word that is no secret costs little.
    let mut near =
        body.iter().take(NEAR_BYTES.max(shape.least + MAX_SPARE_BYTES)).take_while(is_part);
    let has_digit = near.clone().any(u8::is_ascii_digit);
    let is_mixed = has_digit || near.clone().any(u8::is_ascii_uppercase);
    let length = near.by_ref().count();
    let is_fit = match shape.body {
        Body::Any => true,
        Body::Mixed => is_mixed,
        Body::Hex => length == shape.least && body.iter().take(length).all(u8::is_ascii_hexdigit),
        Body::Alone => {
            let is_data = |byte: &u8| b"+/=".contains(byte);
            let has_lower = body.iter().take(length).any(u8::is_ascii_lowercase);
            let is_data = before.is_some_and(is_data) || body.get(length).is_some_and(is_data);
            has_digit && has_lower && !is_data && length < shape.least + MAX_SPARE_BYTES
        }
    };
    if length < shape.least || !is_fit {
        return None;
    }
    let end = body.iter().take_while(is_part).count();
    // A full stop ends a sentence, not a secret.
    let end = body.get(..end)?.iter().rposition(|byte| *byte != b'.').map_or(0, |last| last + 1);
    let body = body.get(..end)?;
    // Prefixes that also occur in ordinary text need a check of the whole structure.
    let is_whole = match shape.prefix {
        b"eyJ" => is_jwt(body),
        b"AKIA" | b"ASIA" => body.iter().all(|byte| !byte.is_ascii_lowercase()),
        b"SG." => body.contains(&b'.'),
        b"pat" => is_airtable(body),
        _ => true,
    };
    (is_whole && shape.least <= body.len()).then(|| shape.prefix.len() + body.len())
}

/// Returns true if the text after the prefix has the two parts of an Airtable token.
fn is_airtable(body: &[u8]) -> bool {
    let mut parts = body.split(|byte| *byte == b'.');
    let (name, secret) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let is_hex = secret.len() >= 60 && secret.iter().all(u8::is_ascii_hexdigit);
    (12..=17).contains(&name.len()) && is_hex && parts.next().is_none()
}

/// Finds secrets without a fixed prefix but with a known structure.
fn in_parts(rest: &[u8], first: u8) -> Option<usize> {
    match first {
        b'0'..=b'9' | b'b' => telegram(rest),
        b'M' | b'N' | b'O' => discord(rest),
        _ => None,
    }
}

/// Matches a Telegram token: a bot's number, a colon, and a long word that begins with `AA`. In a
/// URL, `bot` comes before it.
fn telegram(rest: &[u8]) -> Option<usize> {
    let number = if rest.starts_with(b"bot") { 3 } else { 0 };
    // The run is bounded, so that a long number costs no more than a short one.
    let colon = number + run(rest.get(number..)?, 12, |byte| byte.is_ascii_digit());
    let word = rest.get(colon..)?.strip_prefix(b":")?;
    let length = run(word, 64, |byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let is_one = (8..=11).contains(&(colon - number)) && word.starts_with(b"AA");
    (is_one && (32..=40).contains(&length)).then_some(colon + 1 + length)
}

/// Matches a Discord token: a number in base64, a time and a signature, separated by full stops.
fn discord(rest: &[u8]) -> Option<usize> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let mut end = 0;
    for (index, lengths) in [23..=30, 6..=7, 27..=45].into_iter().enumerate() {
        if index > 0 {
            rest.get(end..)?.strip_prefix(b".")?;
            end += 1;
        }
        let length = run(rest.get(end..)?, 64, is_part);
        if !lengths.contains(&length) {
            return None;
        }
        end += length;
    }
    let secret = rest.get(..end)?;
    let has = |is_one: fn(&u8) -> bool| secret.iter().any(is_one);
    (has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase)).then_some(end)
}

/// Returns the number of leading bytes of a kind, up to `most`.
fn run(bytes: &[u8], most: usize, is_part: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take(most).take_while(|byte| is_part(**byte)).count()
}

/// Returns true if the text after the prefix has the parts of a JSON Web Token.
fn is_jwt(body: &[u8]) -> bool {
    let mut parts = body.split(|byte| *byte == b'.');
    let (head, payload) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    // A token without a signature ends with a full stop, which was cut off as the end of a
    // sentence.
    let has_signature = parts.next().is_some() || payload.starts_with(b"eyJ");
    head.len() >= 8 && payload.len() >= 8 && has_signature
}
