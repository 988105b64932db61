use hardline_testkit::generate::Rng;

use super::*;
use crate::scan::{ScanSettings, Scanner};

const PARTS: &[&str] = &[
    "jsonrpc",
    "JſonRPC",
    "\\",
    "\\u",
    "\\\\u007b",
    "/",
    "u",
    "x",
    "&#123;",
    "&quot;",
    "&",
    "%7B",
    "%",
    "\n",
    "\r\n",
    "\t",
    "\u{8}",
    "\u{c}",
    "\u{7f}",
    "\"",
    "{",
    "}",
    ":",
    "Content-Length: 42\n",
    "content-length",
    "eyJqc29ucnBjIjoiMi4w",
    "IiwibWV0aG9kIjoicGluZyJ9",
    "0123456789abcdef",
    "\u{200b}",
    "\u{200b}\u{200b}\u{200b}",
    "\u{202e}",
    "\u{e0041}",
    "\u{ad}",
    "\u{61c}",
    "\u{2028}",
    "\u{2000}",
    "\u{2003}",
    "\u{2800}",
    "\u{2029}",
    "\u{85}",
    "\x0b",
    "ا\u{61c}",
    "字\u{e0150}",
    "字\u{e0100}",
    "葛\u{e0101}",
    "🏴\u{e0067}\u{e0062}\u{e007f}",
    "x\u{fe0f}",
    "x\u{fe00}",
    "\u{3164}",
    "\u{180e}",
    "\u{fdd0}",
    "\u{1fffe}",
    "\u{10ffff}",
    "\u{e069}\u{e067}\u{e06e}\u{e06f}\u{e072}\u{e065}\u{e06d}\u{e065}",
    "\u{10006f}\u{100068}\u{10006f}\u{100068}\u{10006f}\u{100068}\u{10006f}\u{100068}",
    "\u{1d173}",
    "\\udb40\\udc69\\udb40\\udc69\\udb40\\udc69\\udb40\\udc69\\udb40\\udc69\\udb40\\udc69\\udb40\\udc69\\udb40\\udc69",
    "&#xe0069;&#xe0069;&#xe0069;&#xe0069;&#xe0069;&#xe0069;&#xe0069;&#xe0069;",
    "\u{2d7f}",
    "x\u{336}\u{336}\u{336}",
    "x\u{5bc}",
    "\u{5bc}",
    "\u{94d}",
    "ب\u{651}\u{64e}\u{651}",
    "\u{a0}",
    "\u{a0} \u{a0}\u{a0} \u{a0}    \u{a0}",
    "\u{a0}  \u{a0} \u{a0}   \u{a0}\u{a0}",
    "é",
    "—",
    "日本",
    "👩\u{200d}🚀",
    " ",
    "word",
    "eyJqc29ucnBjIjoiMi4wIiwiaWQiOjEsIm1ldGhvZCI6InBpbmcifQ==",
    "IHsianNvbnJwYyI6IjIuMCIsImlkIjoxLCJtZXRob2QiOiJwaW5nIn0=",
    "Hh7Impzb25ycGMiOiIyLjAiLCJpZCI6MSwibWV0aG9kIjoicGluZyJ9",
    "d29yZCB7Impzb25ycGMiOiIyLjAiLCJpZCI6MSwibWV0aG9kIjoicGluZyJ9IHdvcmQ=",
    "CnsianNvbnJwYyI6IjIuMCIsImlkIjoxLCJtZXRob2QiOiJwaW5nIn0K",
    "c29tZSB3b3JkcyBiZWZv\ncmUgaXQgeyJqc29ucnBj\nIjoiMi4wIiwiaWQiOjEs\nIm1ldGhvZCI6InBpbmci\nfQ==",
    "c29tZSB3b3JkcyBiZWZv\\ncmUgaXQgeyJqc29ucnBj\\nIjoiMi4wIiwiaWQiOjEs\\nIm1ldGhvZCI6InBpbmci\\nfQ==",
    "c29tZSB3b3JkcyBiZWZvcmUgaXQgey\\/Jqc29ucnBjIjoiMi4wIiwiaWQiOjEsIm1ldGhvZCI6InBpbmcifQ==",
    "&amp;#106;",
    "&sol;",
    "&nbsp;",
    "&#39;",
    "%2F",
    "%252F",
    "%20",
    "%6asonrpc",
    "\\u4e2d",
    "\\ud83d\\ude00",
    "\\x1b",
    "\\x6a",
    "\\users",
    "\\/",
    "&#10;",
    "%0A",
    "deadbeefcafe0123",
    "/usr/lib/",
    "{\"\\u006asonrpc\":\"2.0\",\"method\":\"ping\"}",
    "{&quot;&#106;sonrpc&quot;:&quot;2.0&quot;,&quot;method&quot;:&quot;ping&quot;}",
    "%7B%22%6Asonrpc%22:%222.0%22,%22method%22:%22ping%22%7D",
    "sonrpc",
    "é\\u00e9",
    "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}",
];

/// Writes a string as JSON, sometimes with unnecessary escapes.
fn write(random: &mut Rng, text: &str) -> String {
    let mut json = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '/' if random.one_in(4) => json.push_str("\\/"),
            '\0'..' ' => json.push_str(&format!("\\u{:04x}", u32::from(char))),
            _ if char.is_ascii() && random.one_in(200) => {
                json.push_str(&format!("\\u{:04x}", u32::from(char)));
            }
            '\u{80}'..='\u{ffff}' if random.one_in(8) => {
                json.push_str(&format!("\\u{:04x}", u32::from(char)));
            }
            _ => json.push(char),
        }
    }
    json.push('"');
    json
}

/// A frame that counts as plain has no hits, at any alignment to blocks.
#[test]
fn what_is_plain_has_no_hits() {
    let mut scanner = Scanner::new(ScanSettings::default());
    let (mut plain, mut hits) = (0, 0);
    let words = crate::scan::pattern::tests::parts();
    let parts: Vec<&str> = PARTS.iter().copied().chain(words.iter().map(|it| &**it)).collect();
    for seed in 0..200_000 {
        let mut random = Rng::new(seed);
        let mut texts = Vec::new();
        let harmless = random.one_in(2);
        for _ in 0..=random.below(3) {
            let mut text = "word ".repeat(random.below(14));
            for _ in 0..random.below(6) {
                let part = random.pick(&parts);
                if !harmless || part.len() < 5 {
                    text.push_str(part);
                }
            }
            texts.push(text);
        }
        let members: Vec<_> = texts
            .iter()
            .map(|it| format!("{}:1,\"x\":{}", write(&mut random, it), write(&mut random, it)))
            .collect();
        let frame = format!("{{\"jsonrpc\":\"2.0\",{}}}", members.join(","));
        let has_hits = texts.iter().any(|it| !scanner.scan(it).hits.is_empty());
        let is_plain = is_plain(frame.as_bytes(), 1);
        let by_baseline =
            dispatch!(Level::baseline(), simd => look_at_all(simd, frame.as_bytes(), 1));
        assert_eq!(is_plain, by_baseline, "seed {seed}: {frame}");
        assert!(!(is_plain && has_hits), "seed {seed}: {frame}");
        plain += u32::from(is_plain);
        hits += u32::from(has_hits);
    }
    assert!(plain > 2_000 && hits > 2_000, "{plain} {hits}");
}

#[test]
fn ordinary_frames_are_plain() {
    use hardline_testkit::sample;
    use hardline_testkit::text::{KINDS, MESSAGE_SIZES};
    for make in
        [sample::english_frame, sample::text_frame, sample::quoted_frame, sample::dense_frame]
    {
        for size in [200, 1000, 100_000] {
            assert!(is_plain(make(size).as_bytes(), 1));
        }
    }
    // The selectors of emoji are weighed, so these texts are scanned.
    for kind in KINDS.iter().filter(|kind| kind.name != "emoji") {
        for (_, size) in MESSAGE_SIZES {
            assert!(is_plain(kind.result(size).as_bytes(), 1), "{} {size}", kind.name);
        }
    }
}
