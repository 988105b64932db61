//! draft
use hardline_testkit::{
    measure::{Candidate, Effort, run},
    sample,
};
use hardline_wire::{json::Checker, limits::Limits};
#[derive(serde::Deserialize)]
#[allow(dead_code)]
struct Env<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow)]
    id: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow)]
    method: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow)]
    params: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow)]
    result: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow)]
    error: Option<&'a serde_json::value::RawValue>,
}
fn main() {
    for (name, f) in [
        ("text", sample::text_frame as fn(usize) -> String),
        ("dense", sample::dense_frame),
        ("wide", sample::wide_frame),
    ] {
        for len in [200, 2000, 100_000, 5_000_000] {
            let frame = f(len);
            let b = frame.as_bytes();
            let mut c = Checker::new(&Limits::default());
            let o = run(
                Effort::FULL,
                vec![
                    Candidate::new("ours", || c.check(b).unwrap().value.text().len()),
                    Candidate::new("raw", || {
                        serde_json::from_slice::<Env<'_>>(b).unwrap().result.unwrap().get().len()
                    }),
                    Candidate::new("ignored", || {
                        serde_json::from_slice::<serde::de::IgnoredAny>(b).unwrap();
                        1
                    }),
                ],
            );
            println!(
                "{name} {len}: ours {:.2} GB/s; raw {:.2} ({:.2}x); ignored {:.2} ({:.2}x)",
                o.gigabytes("ours", b.len()),
                o.gigabytes("raw", b.len()),
                o.speed("ours", "raw"),
                o.gigabytes("ignored", b.len()),
                o.speed("ours", "ignored")
            );
        }
    }
}
