//! The report of a replay.

use hardline_wire::id::Id;

use super::diff::{Change, What};

/// Limit on stored differences; further ones are counted.
const MAX_DIFFERENCES: usize = 100;

/// Report of a replay.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// Id of the replayed session.
    pub(super) session: String,
    /// Number of the client's requests.
    pub(super) requests: usize,
    /// Requests with the recorded answers.
    pub(super) same: usize,
    /// Requests with other answers, or none.
    pub(super) differing: usize,
    /// Requests without an answer in the recording.
    pub(super) unanswered: usize,
    /// Differences, in the order of the recording.
    pub(super) differences: Vec<Difference>,
    /// Number of differences that are not stored.
    pub(super) more: usize,
    pub(super) notes: Vec<String>,
}

/// One difference.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) about: About,
    pub(super) kind: Kind,
    /// Changed value, if the difference is one.
    pub(super) change: Option<Change>,
    /// Description, if it adds something.
    pub(super) detail: String,
}

/// Subject of a difference.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct About {
    /// Index of the request; everything else is sorted after the requests.
    pub(super) order: usize,
    /// Id of the request, as JSON.
    pub(super) id: Option<String>,
    pub(super) method: Option<String>,
    /// Tool, prompt or resource.
    pub(super) target: Option<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// A value in an answer, notification or request of the server.
    Value(What),
    NoAnswer,
    ExtraAnswer,
    NoNotification,
    ExtraNotification,
    NoRequest,
    ExtraRequest,
    ServerEnded,
}

impl Report {
    pub(super) fn is_same(&self) -> bool {
        self.differences.is_empty()
    }

    /// Returns the number of differences that can still be stored.
    pub(super) fn room(&self) -> usize {
        MAX_DIFFERENCES.saturating_sub(self.differences.len())
    }

    pub(super) fn push(&mut self, about: About, kind: Kind, detail: impl Into<String>) {
        let detail = detail.into();
        self.add(Difference { about, kind, change: None, detail });
    }

    pub(super) fn push_changes(&mut self, about: &About, changes: Vec<Change>) {
        for change in changes {
            let (about, kind) = (about.clone(), Kind::Value(change.what));
            self.add(Difference { about, kind, change: Some(change), detail: String::new() });
        }
    }

    fn add(&mut self, difference: Difference) {
        if self.room() == 0 {
            // A broken server could otherwise fill memory with differences.
            self.more += 1;
            return;
        }
        self.differences.push(difference);
    }

    /// Sorts the differences into the order of the recording.
    pub(super) fn sort(&mut self) {
        // The sort is stable, so the differences of one answer keep their order.
        self.differences.sort_by_key(|difference| difference.about.order);
    }
}

impl About {
    pub(super) fn method(method: &str) -> Self {
        // Sorted after all requests and stray answers.
        Self { order: usize::MAX - 1, method: Some(method.to_owned()), ..Self::default() }
    }

    /// An answer with an id that the client never used.
    pub(super) fn stray(id: &Id<'_>) -> Self {
        Self { order: usize::MAX - 2, id: Some(id.to_string()), ..Self::default() }
    }

    pub(super) fn server() -> Self {
        // Last: the end of the server explains the answers that are missing above.
        Self { order: usize::MAX, ..Self::default() }
    }
}

impl Kind {
    /// Returns the name for programs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Value(What::Changed) => "changed",
            Self::Value(What::Missing) => "missing",
            Self::Value(What::Extra) => "extra",
            Self::Value(What::Order) => "order",
            Self::NoAnswer => "no-answer",
            Self::ExtraAnswer => "extra-answer",
            Self::NoNotification => "no-notification",
            Self::ExtraNotification => "extra-notification",
            Self::NoRequest => "no-request",
            Self::ExtraRequest => "extra-request",
            Self::ServerEnded => "server-ended",
        }
    }
}
