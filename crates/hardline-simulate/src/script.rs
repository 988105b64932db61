//! Writes plans step by step: a client that sends requests, and a server whose bytes arrive in
//! chunks.

use hardline_guard::policy::Profile;
use hardline_testkit::generate::Rng;
use hardline_wire::version::Version;

use crate::document::Author;
use crate::plan::{Part, Plan, Step};

/// Capabilities that clients declare.
const OFFERS: [&str; 5] = [
    "{}",
    r#"{"sampling":{}}"#,
    r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}"#,
    r#"{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}"#,
    r#"{"sampling":{},"tasks":{"requests":{"sampling":{"createMessage":{}}}}}"#,
];
/// Pauses between two writes, in milliseconds.
const PAUSES: [u64; 12] = [0, 0, 0, 1, 1, 3, 15, 60, 100, 400, 400, 2000];

/// A request of the client.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Id, as JSON.
    pub id: String,
    /// Method.
    pub method: &'static str,
}

/// A plan that is being written.
#[derive(Debug)]
pub struct Script<'r> {
    /// The source of every choice.
    pub rng: &'r mut Rng,
    /// The attacker whose documents the server reads.
    pub author: Author,
    /// The policy of the relay.
    pub profile: Profile,
    /// Limit on the length of a frame, if it is not the relay's default.
    pub max_frame_bytes: Option<usize>,
    /// True if the client sends only the requests of a scene.
    pub is_alone: bool,
    /// True if the server may pause for longer than the relay waits for the rest of a line.
    pub may_stall: bool,
    /// True until the server has sent many notifications in a row.
    pub may_be_steady: bool,
    /// Protocol version of the session.
    pub version: Version,
    /// Capabilities that the client declares.
    pub offer: &'static str,
    steps: Vec<Step>,
    next_id: u32,
    next_output: u32,
}

impl<'r> Script<'r> {
    /// Creates a plan whose session is opened.
    pub fn new(rng: &'r mut Rng, profile: Profile) -> Self {
        let version = *rng.pick(&Version::ALL.each_ref());
        let offer = rng.pick(&OFFERS);
        let mut script = Self {
            rng,
            profile,
            max_frame_bytes: None,
            is_alone: false,
            may_stall: true,
            may_be_steady: true,
            author: Author::new(),
            version,
            offer,
            steps: Vec::new(),
            next_id: 1,
            next_output: 1,
        };
        script.open();
        script
    }

    /// Returns the plan.
    pub fn finish(self, is_honest: bool) -> Plan {
        let Self { profile, max_frame_bytes, steps, .. } = self;
        Plan { profile, max_frame_bytes, is_honest, steps }
    }

    fn open(&mut self) {
        let (version, offer) = (self.version, self.offer);
        let capabilities = r#"{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"logging":{}}"#;
        if self.is_stateless() {
            let meta = self.meta("");
            self.client(&format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{{{meta}}}}}"#
            ));
            let answer = format!(
                r#"{{"jsonrpc":"2.0","id":0,"result":{{"supportedVersions":["{version}"],"capabilities":{capabilities},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
            );
            return self.write(format!("{answer}\n").as_bytes(), &["0".to_owned()]);
        }
        self.client(&format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{offer},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
        ));
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"{version}","capabilities":{capabilities},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
        );
        self.write(format!("{answer}\n").as_bytes(), &["0".to_owned()]);
        self.client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    /// Returns true if the version has no handshake.
    pub fn is_stateless(&self) -> bool {
        !self.version.has_handshake()
    }

    /// Returns the `_meta` member of a request, with a progress token if one is given.
    fn meta(&self, token: &str) -> String {
        let mut members = Vec::new();
        if !token.is_empty() {
            members.push(format!(r#""progressToken":{token}"#));
        }
        // Without a handshake, every request carries the version and the capabilities.
        if self.is_stateless() {
            let (version, offer) = (self.version, self.offer);
            members.push(format!(r#""io.modelcontextprotocol/protocolVersion":"{version}""#));
            members.push(format!(r#""io.modelcontextprotocol/clientCapabilities":{offer}"#));
        }
        format!(r#""_meta":{{{}}}"#, members.join(","))
    }

    /// Adds a line of the client.
    pub fn client(&mut self, line: &str) {
        self.steps.push(Step::Client(line.as_bytes().to_vec()));
    }

    /// Makes the client answer the requests of the server.
    pub fn reply(&mut self) {
        self.steps.push(Step::Reply);
    }

    /// Makes the client send a request.
    pub fn ask(&mut self) -> Asked {
        let asked = self.request();
        let line = self.line_of(&asked);
        self.client(&line);
        asked
    }

    /// Makes the client send several requests in a batch.
    pub fn ask_batch(&mut self, count: usize) -> Vec<Asked> {
        let asked: Vec<_> = (0..count).map(|_| self.request()).collect();
        let lines: Vec<_> = asked.iter().map(|it| self.line_of(it)).collect();
        self.client(&format!("[{}]", lines.join(",")));
        asked
    }

    /// Returns a number that was not used before in this session.
    pub fn next_number(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn request(&mut self) -> Asked {
        let number = self.next_number();
        let id = match self.rng.below(24) {
            0..=3 => format!("\"r{number}\""),
            4..=7 => format!("\"{number}\""),
            8 => format!("-{number}"),
            // JavaScript rounds integers from here on.
            9 => format!("{}", 9_007_199_254_740_992 + u64::from(number)),
            10 => format!("\"é{number}\""),
            // The number of the previous request, as a string. No honest client has such a pair.
            11 => match self.author.guesses.last().filter(|_| self.may_stall) {
                Some(id) if id.parse::<u32>().is_ok() => format!("\"{id}\""),
                _ => number.to_string(),
            },
            _ => number.to_string(),
        };
        let method = self.rng.pick(&[
            "tools/call",
            "tools/call",
            "tools/call",
            "tools/list",
            "resources/read",
            "prompts/get",
        ]);
        // The attacker can guess every id that the client has used.
        self.author.guesses.push(id.clone());
        Asked { id, method }
    }

    fn line_of(&mut self, asked: &Asked) -> String {
        let Asked { id, method } = asked;
        let token = if self.rng.one_in(4) { id.as_str() } else { "" };
        let mut params = match *method {
            "tools/call" => r#""name":"t","arguments":{"a":1}"#.to_owned(),
            "resources/read" => r#""uri":"file:///a""#.to_owned(),
            "prompts/get" => r#""name":"p""#.to_owned(),
            _ => String::new(),
        };
        if !token.is_empty() || self.is_stateless() {
            let comma = if params.is_empty() { "" } else { "," };
            params = format!("{params}{comma}{}", self.meta(token));
        }
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
    }

    /// Makes the client send a part of `document` back, which it read last.
    pub fn echo(&mut self, part: Part, has_returns: bool, document: &str) {
        let (id, document) = (self.request().id, document.to_owned());
        self.steps.push(Step::Echo { id, part, has_returns, document });
    }

    /// Makes the client cancel a request.
    pub fn cancel(&mut self, asked: &Asked) {
        let id = &asked.id;
        self.client(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"no"}}}}"#
        ));
    }

    /// Adds a pause, in milliseconds.
    pub fn pause(&mut self, time: u64) {
        self.steps.push(Step::Pause(time));
    }

    /// Ends the server.
    pub fn end(&mut self, is_success: bool) {
        self.steps.push(Step::End { is_success });
    }

    /// Makes the server write in one piece.
    pub fn write(&mut self, bytes: &[u8], meant: &[String]) {
        let output = self.next_output;
        self.next_output += 1;
        let (bytes, meant) = (bytes.to_vec(), meant.to_vec());
        self.steps.push(Step::Server { output, bytes, meant });
    }

    /// Makes the server write in pieces of any size, with pauses between them.
    pub fn say(&mut self, bytes: &[u8], meant_for: &[String]) {
        let output = self.next_output;
        self.next_output += 1;
        let chunks = self.cut(bytes);
        let last = chunks.len().saturating_sub(1);
        for (number, chunk) in chunks.into_iter().enumerate() {
            // Only the last chunk completes the output, so the answer is owed from then on.
            let meant = if number == last { meant_for.to_vec() } else { Vec::new() };
            self.steps.push(Step::Server { output, bytes: chunk, meant });
            if number < last {
                self.hesitate();
                if self.interrupt(meant_for) {
                    return;
                }
            }
        }
    }

    /// Makes the server write two texts in turns, like two threads without a lock.
    pub fn say_in_turns(&mut self, first: &[u8], second: &[u8], meant: &[String]) {
        let output = self.next_output;
        self.next_output += 1;
        let cut = |rng: &mut Rng, text: &[u8]| {
            let (start, end) = text.split_at(rng.below(text.len()));
            vec![start.to_vec(), end.to_vec()]
        };
        let (first, second) = (cut(self.rng, first), cut(self.rng, second));
        let count = first.len().max(second.len());
        let (mut first, mut second) = (first.into_iter(), second.into_iter());
        for number in 1..=count {
            let bytes = [first.next(), second.next()].into_iter().flatten().flatten().collect();
            let meant = if number == count { meant.to_vec() } else { Vec::new() };
            self.steps.push(Step::Server { output, bytes, meant });
            self.hesitate();
        }
    }

    /// Sometimes lets something happen while the server is still writing. Returns true if the
    /// server has ended.
    fn interrupt(&mut self, meant_for: &[String]) -> bool {
        if self.is_alone || !self.rng.one_in(24) {
            return false;
        }
        match self.rng.below(6) {
            0 => {
                self.end(false);
                self.pause(1000);
                return true;
            }
            1 => {
                let asked = self.ask();
                self.cancel(&asked);
            }
            2 => {
                if let Some(id) = meant_for.first().cloned() {
                    self.cancel(&Asked { id, method: "tools/call" });
                }
            }
            _ => drop(self.ask()),
        }
        false
    }

    /// Adds a short pause, or none.
    pub fn hesitate(&mut self) {
        let time = PAUSES.get(self.rng.below(PAUSES.len())).copied().unwrap_or_default();
        // Longer than the relay waits for the rest of a line.
        let time = if self.rng.one_in(60) && self.may_stall { 31_000 } else { time };
        if time > 0 || self.rng.one_in(6) {
            self.pause(time);
        }
    }

    fn cut(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        match self.rng.below(8) {
            0..=2 => vec![bytes.to_vec()],
            3..=5 => bytes.split_inclusive(|it| *it == b'\n').map(<[u8]>::to_vec).collect(),
            6 => {
                let (first, second) = bytes.split_at(self.rng.below(bytes.len() + 1));
                vec![first.to_vec(), second.to_vec()]
            }
            _ => {
                let mut chunks = Vec::new();
                let mut rest = bytes;
                while !rest.is_empty() {
                    // After a dozen small chunks the rest comes in large ones, to keep plans short.
                    let most = if chunks.len() > 12 { rest.len() } else { rest.len().min(40) };
                    let (chunk, others) = rest.split_at(1 + self.rng.below(most));
                    chunks.push(chunk.to_vec());
                    rest = others;
                }
                chunks
            }
        }
    }

    /// Returns a proper answer.
    pub fn answer_to(&mut self, asked: &Asked) -> String {
        let id = &asked.id;
        let result = match asked.method {
            "tools/list" => {
                r#"{"tools":[{"name":"t","description":"A tool.","inputSchema":{"type":"object"}}]}"#
            }
            "resources/read" => r#"{"contents":[{"uri":"file:///a","text":"plain text"}]}"#,
            "prompts/get" => {
                r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}"#
            }
            _ => r#"{"content":[{"type":"text","text":"fine"}],"isError":false}"#,
        };
        match self.rng.below(9) {
            // An escaped letter in an id: the same id for every JSON parser.
            8 if id.starts_with("\"r") => {
                let id = id.replacen('r', "\\u0072", 1);
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
            }
            0 => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"no such thing"}}}}"#
            ),
            1 => format!(r#"{{"id":{id},"result":{result},"jsonrpc":"2.0"}}"#),
            2 => format!(r#"{{"result": {result}, "id": {id}, "jsonrpc": "2.0"}}"#),
            _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        }
    }

    /// Makes the server answer properly.
    pub fn answer(&mut self, asked: &Asked) {
        let answer = self.answer_to(asked);
        self.say(format!("{answer}\n").as_bytes(), std::slice::from_ref(&asked.id));
    }
}
