//! One JSON document: `{"session":…,"requests":…,"same":…,"differences":[…],"notes":[…]}`.

use std::io::{self, Write};

use hardline_proxy::audit::time::Time;
use serde::Serialize;
use serde_json::value::RawValue;

use super::super::file::RecordedSession;
use super::super::report::{Difference, Report};
use super::super::show::ShownValue;
use crate::json;

#[derive(Serialize)]
struct Document<'a> {
    session: &'a str,
    requests: usize,
    same: usize,
    unanswered: usize,
    differences: Vec<Entry<'a>>,
    #[serde(rename = "moreDifferences")]
    more: usize,
    notes: &'a [String],
}

/// A difference; the order of its members is part of the format.
#[derive(Serialize)]
struct Entry<'a> {
    id: Option<Box<RawValue>>,
    method: Option<&'a str>,
    target: Option<&'a str>,
    kind: &'a str,
    path: Option<String>,
    recorded: Option<Box<RawValue>>,
    replayed: Option<Box<RawValue>>,
    detail: Option<&'a str>,
}

#[derive(Serialize)]
struct Listed<'a> {
    session: &'a str,
    start: Option<String>,
    client: u64,
    server: u64,
}

pub(in super::super) fn report(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let document = Document {
        session: &report.session,
        requests: report.requests,
        same: report.same,
        unanswered: report.unanswered,
        differences: report.differences.iter().map(Entry::new).collect(),
        more: report.more,
        notes: &report.notes,
    };
    writeln!(out, "{}", json::line(&document)?)
}

pub(in super::super) fn list(out: &mut dyn Write, sessions: &[RecordedSession]) -> io::Result<()> {
    let listed = sessions.iter().map(|it| Listed {
        session: &it.id,
        start: it.since.map(start),
        client: it.client,
        server: it.server,
    });
    let listed: Vec<_> = listed.collect();
    writeln!(out, "{}", json::line(&serde_json::json!({ "sessions": listed }))?)
}

/// Formats a time since 1970 as recordings do.
pub(super) fn start(since: std::time::Duration) -> String {
    Time(i64::try_from(since.as_micros()).unwrap_or(i64::MAX)).to_string()
}

impl<'a> Entry<'a> {
    fn new(difference: &'a Difference) -> Self {
        let Difference { about, kind, change, detail } = difference;
        // Raw values keep the digits and the key order of the peer.
        let value = |shown: Option<&ShownValue>| RawValue::from_string(shown?.json.clone()).ok();
        Self {
            id: about.id.clone().and_then(|id| RawValue::from_string(id).ok()),
            method: about.method.as_deref(),
            target: about.target.as_deref(),
            kind: kind.name(),
            path: change.as_ref().map(|change| change.path.to_string()),
            recorded: value(change.as_ref().and_then(|change| change.recorded.as_ref())),
            replayed: value(change.as_ref().and_then(|change| change.replayed.as_ref())),
            detail: Some(detail.as_str()).filter(|detail| !detail.is_empty()),
        }
    }
}
