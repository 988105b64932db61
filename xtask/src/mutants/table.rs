//! The mutants: for each mend, the edit that takes it back and the simulation classes that must notice.
//!
//! A mend that is covered by a second one has both edits in its row. A row whose text is no longer found
//! in its file fails the test below, so a change of the guard brings a change here.

use super::{Edit, Mutant};

const CAPACITY: &str = "crates/hardline-guard/src/scan/hidden/capacity.rs";
const CHECK: &str = "crates/hardline-guard/src/session/check.rs";
const CONTENT: &str = "crates/hardline-guard/src/guard/content.rs";
const DOUBT: &str = "crates/hardline-guard/src/guard/doubt.rs";
const EMBEDDED: &str = "crates/hardline-guard/src/session/embedded.rs";
const HEAD: &str = "crates/hardline-guard/src/join/head.rs";
const HIDDEN: &str = "crates/hardline-guard/src/scan/hidden/mod.rs";
const HOLDBACK: &str = "crates/hardline-guard/src/guard/holdback.rs";
const JOIN: &str = "crates/hardline-guard/src/join/mod.rs";
const PART: &str = "crates/hardline-guard/src/session/part.rs";
const PROBABLE: &str = "crates/hardline-guard/src/frame/probable.rs";
const READER: &str = "crates/hardline-guard/src/content/reader.rs";
const REFUSE: &str = "crates/hardline-guard/src/frame/refuse.rs";
const SELECTOR: &str = "crates/hardline-guard/src/scan/hidden/selector.rs";
const SESSION_ANSWER: &str = "crates/hardline-guard/src/session/answer.rs";
const SESSION_DOUBT: &str = "crates/hardline-guard/src/session/doubt.rs";
const SINGLE_LINE: &str = "crates/hardline-wire/src/single_line.rs";
const SUSPICION: &str = "crates/hardline-guard/src/join/suspicion.rs";
const UNDO: &str = "crates/hardline-guard/src/undo/mod.rs";
const UNFINISHED: &str = "crates/hardline-proxy/src/relay/unfinished.rs";

const fn edit(file: &'static str, find: &'static str, replace: &'static str) -> Edit {
    Edit { file, find, replace }
}

/// All mutants, in the order of docs/threats.md.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "bracket-head",
        attack: "Raw newlines that split an answer",
        mend: "a head may end outside of a string",
        edits: &[edit(
            HEAD,
            "ends_in_string(text) || brackets(text, false).is_none_or(|depth| depth > 0)",
            "ends_in_string(text)",
        )],
        classes: &["torn"],
    },
    Mutant {
        name: "broken-line",
        attack: "Raw newlines that split an answer",
        mend: "a broken line makes the server suspect",
        edits: &[edit(
            REFUSE,
            "RefusalReason::Json(_) => true,",
            "RefusalReason::Json(_) => false,",
        )],
        classes: &["torn"],
    },
    Mutant {
        name: "no-hold",
        attack: "Raw newlines that split an answer",
        mend: "lines after a head are held",
        edits: &[edit(
            HEAD,
            "if !matches!(start.first()?, b'{' | b'[') {",
            "if start.len() < usize::MAX {",
        )],
        classes: &["torn"],
    },
    Mutant {
        name: "pause-after-head",
        attack: "Raw newlines that split an answer",
        mend: "suspicion after a hold that ran out",
        edits: &[edit(
            JOIN,
            "self.suspicion = Some(Suspicion::after_hold(now, hold.after_head()));",
            "let _ = Suspicion::after_hold(now, hold.after_head());",
        )],
        classes: &["torn"],
    },
    Mutant {
        name: "short-suspicion",
        attack: "Raw newlines that split an answer",
        mend: "suspicion lasts 30 seconds",
        edits: &[edit(SUSPICION, "Duration::from_secs(30)", "Duration::from_millis(1)")],
        classes: &["torn"],
    },
    Mutant {
        name: "any-line-completes",
        attack: "Raw newlines that split an answer",
        mend: "only the tail of the torn message ends suspicion",
        edits: &[edit(SUSPICION, "lexer.is_complete()", "true")],
        classes: &["torn"],
    },
    Mutant {
        name: "no-hold-back",
        attack: "Content that closes its own answer",
        mend: "a message right after another one waits",
        edits: &[edit(
            HOLDBACK,
            "!self.quiet.is_zero() && (is_after_message || !self.held.is_empty())",
            "!self.quiet.is_zero() && is_after_message && false",
        )],
        classes: &["closed-answer"],
    },
    Mutant {
        name: "rest-unseen",
        attack: "Content that closes its own answer",
        mend: "the rest of the answer is recognized",
        edits: &[edit(
            HOLDBACK,
            "is_recent && (is_rest(text) || is_closing(text, least))",
            "is_recent && (is_rest(text) || is_closing(text, least)) && false",
        )],
        classes: &["closed-answer"],
    },
    Mutant {
        name: "rest-in-pieces",
        attack: "Content that closes its own answer",
        mend: "an unfinished line that may be the rest keeps messages waiting",
        edits: &[edit(
            HOLDBACK,
            "self.is_mid_rest = matches!(first, ",
            "self.is_mid_rest = false && matches!(first, ",
        )],
        classes: &["closed-answer"],
    },
    Mutant {
        name: "carriage-return",
        attack: "Line ends that only some readers see",
        mend: "control characters between tokens become spaces",
        edits: &[edit(
            SINGLE_LINE,
            "filter(|byte| **byte < b' ')",
            "filter(|byte| **byte == b'\\n')",
        )],
        classes: &["line-end", "client-line"],
    },
    Mutant {
        name: "next-line",
        attack: "Line ends that only some readers see",
        mend: "U+0085 becomes an escape",
        edits: &[edit(SINGLE_LINE, "=> (2, b\"\\\\u0085\"),", "=> return None,")],
        classes: &["line-end", "client-line"],
    },
    Mutant {
        name: "line-separator",
        attack: "Line ends that only some readers see",
        mend: "U+2028 becomes an escape",
        edits: &[edit(SINGLE_LINE, "=> (3, b\"\\\\u2028\"),", "=> return None,")],
        classes: &["line-end", "client-line"],
    },
    Mutant {
        name: "paragraph-separator",
        attack: "Line ends that only some readers see",
        mend: "U+2029 becomes an escape",
        edits: &[edit(SINGLE_LINE, "=> (3, b\"\\\\u2029\"),", "=> return None,")],
        classes: &["line-end", "client-line"],
    },
    Mutant {
        name: "damaged-answer",
        attack: "Answers that no client can use",
        mend: "a broken answer fails the pending request that it names",
        edits: &[edit(DOUBT, "self.session.doubt(id, Doubt::Damaged, now);", "let _ = id;")],
        classes: &["two-ids", "repr"],
    },
    Mutant {
        name: "second-id",
        attack: "Answers that no client can use",
        mend: "every id of a broken answer counts",
        edits: &[edit(PROBABLE, "if ids.len() == MAX_IDS {", "if !ids.is_empty() {")],
        classes: &["two-ids"],
    },
    Mutant {
        name: "python-notation",
        attack: "Answers that no client can use",
        mend: "an id in Python's notation counts, or else the broken line fails all requests in the end",
        edits: &[
            edit(PROBABLE, "(true, true) => true,", "(true, true) => !has(b\"'jsonrpc'\"),"),
            edit(DOUBT, "may_answer && (pending.is_empty() || has_more)", "may_answer && has_more"),
        ],
        classes: &["repr"],
    },
    Mutant {
        name: "prefix",
        attack: "Answers that no client can use",
        mend: "an answer behind other text is delivered, or its request fails",
        edits: &[
            edit(
                DOUBT,
                "cut_prefix(text).filter(|_| noise >= Action::Sanitize)",
                "cut_prefix(text).filter(|_| noise > Action::Close)",
            ),
            edit(DOUBT, "self.session.doubt(id, Doubt::Damaged, now);", "let _ = id;"),
        ],
        classes: &["prefix"],
    },
    Mutant {
        name: "unfinished-line",
        attack: "Answers that no client can use",
        mend: "a line without its newline ends after a while",
        edits: &[edit(
            UNFINISHED,
            "const MAX_QUIET: Duration = Duration::from_secs(20);",
            "const MAX_QUIET: Duration = Duration::from_secs(3600);",
        )],
        classes: &["no-newline"],
    },
    Mutant {
        name: "unassignable-answer",
        attack: "Answers that no client can use",
        mend: "an answer that cannot be assigned fails all requests in the end",
        edits: &[edit(
            SESSION_DOUBT,
            "self.client.expire_all(deadline, |it| it.kind != RequestKind::Subscription);",
            "let _ = (deadline, RequestKind::Subscription);",
        )],
        classes: &["no-id"],
    },
    Mutant {
        name: "id-type",
        attack: "Answers that no client can use",
        mend: "an answer whose id has another type fails its request",
        edits: &[edit(
            SESSION_ANSWER,
            "self.doubt_in(request, &meant, Doubt::Mistyped, now);",
            "let _ = (&meant, Doubt::Mistyped);",
        )],
        classes: &["id-type"],
    },
    Mutant {
        name: "pretty-printed",
        attack: "Answers that no client can use",
        mend: "a line of opening brackets begins a hold",
        edits: &[edit(
            HEAD,
            "if is_bare(start) {\n            return Some(Self",
            "if is_bare(start) {\n            return None;\n            #[expect(unreachable_code)]\n            return Some(Self",
        )],
        classes: &["pretty"],
    },
    Mutant {
        name: "flag-tags",
        attack: "Hidden text",
        mend: "tag characters pass in three flags alone",
        edits: &[edit(
            HIDDEN,
            "run = without_flag(run);",
            "run = run.trim_start_matches(|it| kind(it) == Some(Kind::Tag));",
        )],
        classes: &["hidden"],
    },
    Mutant {
        name: "ideograph-selectors",
        attack: "Hidden text",
        mend: "variation selectors after ideographs are limited and weighed",
        edits: &[
            edit(
                SELECTOR,
                "_ => !is_ideograph(base) || selector > LAST_REGISTERED,",
                "_ => !is_ideograph(base) || selector < LAST_REGISTERED && false,",
            ),
            edit(SELECTOR, "_ => of(STRANGE, 0, STRANGE),", "_ => of(0, 0, 0),"),
        ],
        classes: &["hidden"],
    },
    Mutant {
        name: "zero-width-weight",
        attack: "Hidden text",
        mend: "zero-width characters are weighed",
        edits: &[
            edit(
                CAPACITY,
                "const LIMIT: Weight = 14 * BIT;",
                "const LIMIT: Weight = Weight::MAX / 2;",
            ),
            edit(
                CAPACITY,
                "const SHORT_LIMIT: Weight = ODD + ODD / 2;",
                "const SHORT_LIMIT: Weight = Weight::MAX;",
            ),
            edit(HIDDEN, "const MAX_RUN: usize = 32;", "const MAX_RUN: usize = usize::MAX;"),
            edit(HIDDEN, "const MIN_ROW: usize = 3;", "const MIN_ROW: usize = usize::MAX;"),
        ],
        classes: &["hidden"],
    },
    Mutant {
        name: "spread-text",
        attack: "Hidden text",
        mend: "the texts of one message are added up",
        edits: &[edit(CAPACITY, "self.level >= 2 * LIMIT", "self.level >= 2 * LIMIT && false")],
        classes: &["hidden"],
    },
    Mutant {
        name: "schema-description",
        attack: "Hidden text",
        mend: "descriptions inside schemas are made harmless",
        edits: &[edit(READER, "_ => return Reader::Person,", "_ => return Reader::Machine,")],
        classes: &["hidden"],
    },
    Mutant {
        name: "structured-content",
        attack: "Hidden text",
        mend: "structured content is made harmless",
        edits: &[edit(
            READER,
            "\"structuredContent\" => return inside(Reader::Person),",
            "\"structuredContent\" => return inside(Reader::Machine),",
        )],
        classes: &["hidden"],
    },
    Mutant {
        name: "compared-text",
        attack: "Hidden text",
        mend: "hidden text in names and keys blocks the message",
        edits: &[edit(
            CONTENT,
            "if is_message || is_seen { Action::Block }",
            "if is_message || is_seen && false { Action::Block }",
        )],
        classes: &["hidden"],
    },
    Mutant {
        name: "no-undo",
        attack: "Edits that end up in files",
        mend: "edits are undone in a client's call",
        edits: &[edit(
            CONTENT,
            "self.put_back(subject, sink.now).map_or(Verdict::Clean, Verdict::Edited)",
            "self.put_back(subject, sink.now).map_or(Verdict::Clean, |_| Verdict::Clean)",
        )],
        classes: &["round-trip"],
    },
    Mutant {
        name: "undo-whole-texts-only",
        attack: "Edits that end up in files",
        mend: "edits are undone in parts of a text",
        edits: &[edit(
            UNDO,
            "sheet.spots().map(|spot| self.source(spot, short)).collect()",
            "sheet.spots().map(|spot| self.source(spot, short)).map(|_| Source::Unknown).collect()",
        )],
        classes: &["round-trip"],
    },
    Mutant {
        name: "undo-own-marks",
        attack: "Edits that end up in files",
        mend: "marks that the server wrote itself stay",
        edits: &[edit(
            UNDO,
            "let is_edit = parts.peek().is_some_and(|it| it.edited == token.range);",
            "let is_edit = true;",
        )],
        classes: &["round-trip"],
    },
    Mutant {
        name: "sampling-tools",
        attack: "Requests without a negotiated capability",
        mend: "tools in sampling need a capability",
        edits: &[edit(
            PART,
            "let wants_tools = has(\"tools\") || has(\"toolChoice\");",
            "let wants_tools = false;",
        )],
        classes: &["capability"],
    },
    Mutant {
        name: "sampling-context",
        attack: "Requests without a negotiated capability",
        mend: "context in sampling needs a capability",
        edits: &[edit(
            PART,
            "context.is_some_and(|context| context != \"none\")",
            "context.is_some_and(|context| context == \"x\")",
        )],
        classes: &["capability"],
    },
    Mutant {
        name: "task",
        attack: "Requests without a negotiated capability",
        mend: "requests as tasks need a capability",
        edits: &[edit(PART, "let is_task = has(\"task\");", "let is_task = false;")],
        classes: &["capability"],
    },
    Mutant {
        name: "elicitation-url",
        attack: "Requests without a negotiated capability",
        mend: "web pages in elicitation need a capability",
        edits: &[edit(
            PART,
            "if !client.has(\"elicitation.url\") {",
            "if !client.has(\"elicitation\") {",
        )],
        classes: &["capability"],
    },
    Mutant {
        name: "elicitation-address",
        attack: "Requests without a negotiated capability",
        mend: "elicitation opens web pages alone",
        edits: &[edit(PART, "(!is_web).then_some(", "(!is_web && url.is_none()).then_some(")],
        classes: &["capability"],
    },
    Mutant {
        name: "page-in-error",
        attack: "Requests without a negotiated capability",
        mend: "web pages that an error asks for need a capability",
        edits: &[edit(
            SESSION_ANSWER,
            "client.and_then(|client| objection_to_error(error, client))",
            "client.and_then(|client| objection_to_error(error, client).filter(|_| false))",
        )],
        classes: &["capability"],
    },
    Mutant {
        name: "request-as-notification",
        attack: "Requests without a negotiated capability",
        mend: "a request method without an id is dropped",
        edits: &[edit(
            CHECK,
            "let lacks_id = is_server && !is_request && method.kind == MethodKind::Request;",
            "let lacks_id = is_server && method.kind == MethodKind::Request && false;",
        )],
        classes: &["capability"],
    },
    Mutant {
        name: "undeclared-method",
        attack: "Requests without a negotiated capability",
        mend: "a request needs its capability",
        edits: &[edit(
            CHECK,
            "let is_blocked = is_request && direction == Direction::ServerToClient;",
            "let is_blocked = false;",
        )],
        classes: &["capability"],
    },
    Mutant {
        name: "request-in-result",
        attack: "Requests without a negotiated capability",
        mend: "requests inside a result are checked",
        edits: &[edit(
            EMBEDDED,
            "let requests = result.get(\"inputRequests\")?;",
            "let requests = result.get(\"inputRequest\")?;",
        )],
        classes: &["capability"],
    },
];
