//! Secrets that are known by their shape, wherever they stand.

/// A kind of secret: how it begins, and how many characters follow at least.
struct Shape {
    prefix: &'static [u8],
    least: usize,
    /// What it is made of besides letters and digits.
    extra: &'static [u8],
    /// Whether there must be a digit or a capital letter near its beginning, because ordinary words begin
    /// in the same way.
    needs_mix: bool,
}

const fn sure(prefix: &'static str, least: usize, extra: &'static str) -> Shape {
    let (prefix, extra) = (prefix.as_bytes(), extra.as_bytes());
    Shape { prefix, least, extra, needs_mix: false }
}

const fn word(prefix: &'static str, least: usize, extra: &'static str) -> Shape {
    let (prefix, extra) = (prefix.as_bytes(), extra.as_bytes());
    Shape { prefix, least, extra, needs_mix: true }
}

/// Longer prefixes come before shorter ones that they begin with.
const SHAPES: [Shape; 48] = [
    sure("sk-ant-", 16, "-_"),
    sure("sk-proj-", 16, "-_"),
    word("sk-", 20, "-_"),
    sure("sk_live_", 10, ""),
    sure("sk_test_", 10, ""),
    sure("rk_live_", 10, ""),
    sure("rk_test_", 10, ""),
    word("whsec_", 16, "+/="),
    sure("ghp_", 20, ""),
    sure("gho_", 20, ""),
    sure("ghu_", 20, ""),
    sure("ghs_", 20, ""),
    sure("ghr_", 20, ""),
    sure("github_pat_", 20, "_"),
    sure("glpat-", 16, "-_."),
    sure("gldt-", 16, "-_"),
    sure("glrt-", 16, "-_"),
    sure("glptt-", 16, "-_"),
    sure("xoxa-", 10, "-"),
    sure("xoxb-", 10, "-"),
    sure("xoxp-", 10, "-"),
    sure("xoxr-", 10, "-"),
    sure("xoxs-", 10, "-"),
    sure("xoxe-", 10, "-"),
    sure("xoxe.", 10, "-."),
    sure("xapp-", 10, "-"),
    word("AKIA", 16, ""),
    word("ASIA", 16, ""),
    word("AIza", 30, "-_"),
    word("ya29.", 20, "-_."),
    word("npm_", 30, ""),
    word("hf_", 30, ""),
    word("pypi-", 30, "-_"),
    word("SG.", 32, "-_."),
    word("dop_v1_", 30, ""),
    word("doo_v1_", 30, ""),
    word("shpat_", 20, ""),
    word("shpss_", 20, ""),
    word("dckr_pat_", 20, "-_"),
    word("lin_api_", 20, ""),
    word("figd_", 20, "-_"),
    word("gsk_", 30, ""),
    word("xai-", 30, ""),
    word("r8_", 30, ""),
    word("nvapi-", 30, "-_"),
    word("hvs.", 20, "-_"),
    word("AGE-SECRET-KEY-1", 20, ""),
    word("eyJ", 24, "-_."),
];

/// How far a secret is searched for what ordinary words do not have.
const NEAR_BYTES: usize = 64;

/// How long the secret is that begins at `start`, where a word begins, if one does.
pub(super) fn length_at(text: &[u8], start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    let first = rest.first()?;
    let mut shapes = SHAPES.iter().filter(|shape| shape.prefix.first() == Some(first));
    let shape = shapes.find(|shape| rest.starts_with(shape.prefix))?;
    // A web token does not begin inside what could be one, so that no byte is looked at twice.
    let before = start.checked_sub(1).and_then(|before| text.get(before));
    if shape.prefix == b"eyJ" && before.is_some_and(|byte| b"-_.".contains(byte)) {
        return None;
    }
    let body = rest.get(shape.prefix.len()..)?;
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || shape.extra.contains(byte);
    // Looked at first, so that what is none costs little, however long it is.
    let mut near = body.iter().take(NEAR_BYTES.max(shape.least)).take_while(is_part);
    let is_mixed = near.clone().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    if near.by_ref().count() < shape.least || (shape.needs_mix && !is_mixed) {
        return None;
    }
    let end = body.iter().take_while(is_part).count();
    // A full stop ends a sentence, not a secret.
    let end = body.get(..end)?.iter().rposition(|byte| *byte != b'.').map_or(0, |last| last + 1);
    let body = body.get(..end)?;
    let is_whole = match shape.prefix {
        b"eyJ" => is_jwt(body),
        b"AKIA" | b"ASIA" => body.iter().all(|byte| !byte.is_ascii_lowercase()),
        b"SG." => body.contains(&b'.'),
        _ => true,
    };
    (is_whole && shape.least <= body.len()).then(|| shape.prefix.len() + body.len())
}

/// Whether it has the parts of a JSON Web Token, after its first letters.
fn is_jwt(body: &[u8]) -> bool {
    let mut parts = body.split(|byte| *byte == b'.');
    let (head, payload) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    // One without a signature ends with a full stop, which was taken for the end of a sentence.
    let has_signature = parts.next().is_some() || payload.starts_with(b"eyJ");
    8 <= head.len() && 8 <= payload.len() && has_signature
}
