//! The script: a dozen attacks in four acts.

use hardline_guard::Rule;

use crate::demo_server::hostile::attack;

/// Attacks of one kind.
pub(super) struct Act {
    pub(super) title: &'static str,
    pub(super) scenes: &'static [Scene],
}

/// One attack.
pub(super) struct Scene {
    pub(super) title: &'static str,
    /// Explanation of the attack for readers who do not know it.
    pub(super) story: &'static str,
    pub(super) ask: Ask,
    /// Success message for Hardline; `{n}` stands for the number of notifications that arrived.
    pub(super) good: &'static str,
}

/// Request of the client, always followed by an honest call.
#[derive(Clone, Copy)]
pub(super) enum Ask {
    /// A call of the tool that is the attack.
    Call(&'static str),
    /// The same, while another call waits for its answer.
    CallWhileWaiting(&'static str),
    /// A list of tools, in which the description of this one is the attack.
    List(&'static str),
}

impl Scene {
    /// Returns the rule that detects the attack.
    pub(super) fn rule(&self) -> Option<Rule> {
        let (Ask::Call(name) | Ask::CallWhileWaiting(name) | Ask::List(name)) = self.ask;
        attack::find(name)?.rule
    }
}

pub(super) const ACTS: &[Act] = &[
    Act {
        title: "Servers that fail",
        scenes: &[
            Scene {
                title: "A flood",
                story: "Ten thousand reports of progress, and one answer behind them.",
                ask: Ask::Call("flood-progress"),
                good: "{n} reports, the newest among them, and the answer",
            },
            Scene {
                title: "A server that dies",
                story: "It is killed in the middle of a call, and everything that the client was \
                    doing with it is lost.",
                ask: Ask::Call("kill-self"),
                good: "an error at once, the server restarted, the session alive",
            },
        ],
    },
    Act {
        title: "Messages that were never sent",
        scenes: &[
            Scene {
                title: "A web page asks for your model",
                story: "The server builds its JSON by hand. A newline in the page it quotes ends the \
                    line too early, and the page's next line is taken for a message.",
                ask: Ask::Call("split-request"),
                good: "one answer, with the planted line as text inside it",
            },
            Scene {
                title: "A web page answers for another tool",
                story: "The same, with an answer: another call that is waiting gets the page's words as \
                                    its result.",
                ask: Ask::CallWhileWaiting("split-answer"),
                good: "both calls got their own answers, once",
            },
            Scene {
                title: "A request for what was not offered",
                story: "This client never offered its model to servers. This server asks for it \
                                    anyway, and hopes that the client does not check.",
                ask: Ask::Call("sampling-uninvited"),
                good: "the request was refused; the call got its answer",
            },
        ],
    },
    Act {
        title: "Lines that break clients",
        scenes: &[
            Scene {
                title: "A log line among the messages",
                story: "A print was left in the server's code. Many clients end the session here.",
                ask: Ask::Call("noise-text"),
                good: "kept off the protocol and shown on standard error",
            },
            Scene {
                title: "An answer that is almost JSON",
                story: "NaN, and a comma too many. The client drops what it cannot read, and its \
                                    caller waits forever.",
                ask: Ask::Call("not-json"),
                good: "an error to the caller, at once",
            },
            Scene {
                title: "An answer that is too long",
                story: "All on one line, which a client holds in memory before it can look at it.",
                ask: Ask::Call("huge-frame"),
                good: "an error to the caller, and the line was never stored",
            },
            Scene {
                title: "An answer with the wrong kind of id",
                story: "The request's id is a number, and the answer has the same number as a string. \
                                    They never match.",
                ask: Ask::Call("id-as-string"),
                good: "an error to the caller after two seconds without a better one",
            },
        ],
    },
    Act {
        title: "Text with a hidden payload",
        scenes: &[
            Scene {
                title: "A message inside a text",
                story: "Proper JSON this time. But the next program that writes this text to a pipe \
                    sends a request.",
                ask: Ask::Call("frame-in-text"),
                good: "the line is marked, and no longer a message",
            },
            Scene {
                title: "Invisible instructions",
                story: "Unicode has characters that no font shows and every model reads.",
                ask: Ask::Call("hidden-tags"),
                good: "made visible",
            },
            Scene {
                title: "A tool with a poisoned description",
                story: "Models read the descriptions of tools; people hardly do. This one gives hidden \
                                    instructions.",
                ask: Ask::List("poisoned-description"),
                good: "the tool is listed, with its instructions made visible",
            },
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scene_is_an_attack_and_fits_a_terminal() {
        let mut count = 0;
        for scene in ACTS.iter().flat_map(|act| act.scenes) {
            let (Ask::Call(name) | Ask::CallWhileWaiting(name) | Ask::List(name)) = scene.ask;
            assert!(attack::find(name).is_some(), "{name}");
            let rule = scene.rule().map_or(0, |rule| rule.name().len());
            assert!(scene.title.len() + rule <= 72, "{name}");
            assert!(scene.good.len() <= 64, "{name}");
            count += 1;
        }
        assert_eq!(count, 12);
    }
}
