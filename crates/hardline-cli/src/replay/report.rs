//! What came of a replay.

use hardline_wire::id::Id;

use super::diff::{Change, What};

/// Most differences that are kept; the others are counted.
const MAX_DIFFERENCES: usize = 100;

/// What came of a replay.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// Which session was played.
    pub(super) session: String,
    /// Requests of the client.
    pub(super) requests: usize,
    /// Those with the answers of the recording.
    pub(super) same: usize,
    /// Those with others, or none.
    pub(super) differing: usize,
    /// Those that have no answer in the recording.
    pub(super) unanswered: usize,
    /// In the order of the recording.
    pub(super) differences: Vec<Difference>,
    /// Differences that are not kept.
    pub(super) more: usize,
    pub(super) notes: Vec<String>,
}

/// One difference.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) about: About,
    pub(super) kind: Kind,
    /// Where and what, if something changed.
    pub(super) change: Option<Change>,
    /// In words, if that says more.
    pub(super) detail: String,
}

/// What a difference is about.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct About {
    /// Its place among the requests; what is no request comes behind them.
    pub(super) order: usize,
    /// The request's id, as JSON.
    pub(super) id: Option<String>,
    pub(super) method: Option<String>,
    /// The tool, prompt or resource.
    pub(super) target: Option<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Something in an answer, notification or request of the server.
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

    /// How many more differences there is room for.
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
            self.more += 1;
            return;
        }
        self.differences.push(difference);
    }

    /// Puts the differences into the order of the recording.
    pub(super) fn sort(&mut self) {
        self.differences.sort_by_key(|difference| difference.about.order);
    }
}

impl About {
    pub(super) fn method(method: &str) -> Self {
        Self { order: usize::MAX - 1, method: Some(method.to_owned()), ..Self::default() }
    }

    /// Something with an id that was never asked for.
    pub(super) fn stray(id: &Id<'_>) -> Self {
        Self { order: usize::MAX - 2, id: Some(id.to_string()), ..Self::default() }
    }

    pub(super) fn server() -> Self {
        Self { order: usize::MAX, ..Self::default() }
    }
}

impl Kind {
    /// Its name for programs.
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
