//! Plays a plan: a relay between the client's lines and the server's bytes, in virtual time.
//!
//! The relay is driven as `wrap` drives it: each chunk goes through a framer, an unfinished line is
//! announced, timers run only while there is nothing to read, and a server that ended is restarted
//! when the relay says so. A restarted server answers the relay's own requests; everything else
//! that servers send is in the plan.

use std::time::Duration;

use hardline_guard::Direction;
use hardline_guard::policy::{Policy, Profile};
use hardline_proxy::Notice;
use hardline_proxy::relay::{After, DriverAction, Ended, Outgoing, Relay, RelaySettings, Sink};
use hardline_wire::line::{Line, LineFramer};

use crate::oracle::{Failure, Fault, Judge};
use crate::plan::{Plan, Step};
use crate::reader::{Json, parse};

/// Virtual time after the last step in which every owed answer must arrive.
pub const ANSWER_BOUND: Duration = Duration::from_secs(60);
/// Limit on the timers that are due one after another at one point in time.
const MAX_TIMERS: u32 = 10_000;

/// The outcome of a session.
#[derive(Debug)]
pub struct Report {
    /// The first broken promise.
    pub failure: Option<Failure>,
    /// Number of lines, chunks, timers, ends and starts that the relay handled.
    pub events: u64,
}

/// Plays a plan to its end.
pub fn play(plan: &Plan) -> Report {
    let mut world = World::new(plan);
    for (number, step) in plan.steps.iter().enumerate() {
        world.outputs.judge.step = number;
        world.take(step);
        if world.is_over || world.outputs.judge.has_failed() {
            break;
        }
    }
    world.outputs.judge.step = plan.steps.len();
    // Gives owed answers their time, and timers the chance to send errors.
    world.wait(ANSWER_BOUND);
    let now = world.now;
    world.outputs.judge.finish(now, world.is_over);
    Report { failure: world.outputs.judge.take_failure(), events: world.events }
}

struct World {
    relay: Relay,
    framer: LineFramer,
    outputs: Outputs,
    now: Duration,
    /// Time at which a server that ended is restarted.
    restart_at: Option<Duration>,
    is_up: bool,
    /// True once the session is closed.
    is_over: bool,
    /// Number of restarts so far.
    restarts: u32,
    events: u64,
}

/// The two outputs of the relay.
struct Outputs {
    judge: Judge,
    /// Lines for the server that the world has not handled yet.
    to_server: Vec<Vec<u8>>,
    now: Duration,
}

impl Sink for Outputs {
    fn send(&mut self, outgoing: Outgoing<'_>) {
        let frame = outgoing.frame();
        match outgoing.direction() {
            Direction::ServerToClient => {
                self.judge.handle_to_client(frame, outgoing.is_own(), self.now);
            }
            Direction::ClientToServer => {
                self.judge.handle_to_server(frame, self.now);
                self.to_server.push(frame.to_vec());
            }
        }
    }

    fn notify(&mut self, _: &Notice<'_>) {}
}

impl World {
    fn new(plan: &Plan) -> Self {
        let policy = match plan.max_frame_bytes {
            None => Policy::profile(plan.profile),
            Some(limit) => {
                let text = format!("[limits]\nmax_frame_bytes = {limit}\n");
                Policy::parse_with_profile(&text, plan.profile)
                    .unwrap_or_else(|_| Policy::profile(plan.profile))
            }
        };
        let hold_back = policy.settings(Some("files")).hold_back();
        let relay = Relay::new(RelaySettings::new("files", policy));
        Self {
            framer: LineFramer::new(relay.limits()),
            relay,
            outputs: Outputs {
                judge: Judge::new(plan.is_honest, plan.profile == Profile::Strict, hold_back),
                to_server: Vec::new(),
                now: Duration::ZERO,
            },
            now: Duration::ZERO,
            restart_at: None,
            is_up: true,
            is_over: false,
            restarts: 0,
            events: 0,
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Client(line) => {
                self.outputs.judge.handle_client(line);
                self.client(line);
            }
            Step::Reply => {
                for reply in self.outputs.judge.take_replies() {
                    self.client(&reply);
                }
            }
            Step::Echo { id, part, has_returns, document } => {
                let judge = &mut self.outputs.judge;
                if let Some(line) = judge.take_echo(id, *part, *has_returns, document) {
                    self.outputs.judge.handle_client(&line);
                    self.client(&line);
                }
            }
            // A server that is down says nothing: its steps are skipped.
            Step::Server { output, bytes, meant } if self.is_up => {
                self.outputs.judge.handle_server_bytes(*output, bytes, self.now);
                self.server(bytes);
                self.outputs.judge.handle_meant(meant);
            }
            Step::Server { .. } => {}
            Step::Pause(time) => self.wait(Duration::from_millis(*time)),
            Step::End { is_success } if self.is_up => self.end(*is_success),
            Step::End { .. } => {}
        }
    }

    fn client(&mut self, line: &[u8]) {
        self.events += 1;
        // The framer strips line ends and a byte order mark, as in the real driver.
        let mut framer = LineFramer::new(self.relay.limits());
        let stream = [line, b"\n"].concat();
        let mut rest = stream.as_slice();
        while let Some(line) = framer.next_line(&mut rest) {
            self.relay.handle_client(&line, self.now, &mut self.outputs);
        }
        self.settle();
        self.keep_time(true);
    }

    /// Passes one chunk of the server to the relay.
    fn server(&mut self, bytes: &[u8]) {
        self.events += 1;
        let (mut rest, mut lines) = (bytes, 0);
        while let Some(line) = self.framer.next_line(&mut rest) {
            lines += 1;
            self.events += 1;
            self.relay.handle_server(&line, self.now, &mut self.outputs);
        }
        // As in `wrap`: the relay measures the time of an unfinished line from its last bytes.
        self.relay.handle_server_bytes(self.framer.unfinished(), lines > 0, self.now);
        self.settle();
        self.keep_time(false);
    }

    /// Runs a timer that is due now, without waiting.
    fn keep_time(&mut self, is_quiet: bool) {
        if self.relay.poll_timeout().is_some_and(|due| due <= self.now) && !self.is_over {
            self.events += 1;
            self.relay.handle_timeout(self.now, is_quiet, &mut self.outputs);
            self.settle();
        }
    }

    /// Lets time pass while there is nothing to read.
    fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        for _ in 0..MAX_TIMERS {
            let timer = self.relay.poll_timeout().filter(|_| !self.is_over);
            let Some(due) =
                timer.into_iter().chain(self.restart_at).min().filter(|due| *due <= end)
            else {
                self.set_time(end);
                return;
            };
            // A timer may be overdue, but time never goes back.
            self.set_time(self.now.max(due));
            self.events += 1;
            // The restart comes first, so that a timer due at the same time finds the new server.
            if self.restart_at.is_some_and(|at| at <= self.now) {
                self.start();
            } else {
                self.relay.handle_timeout(self.now, true, &mut self.outputs);
                self.settle();
            }
        }
        self.outputs.judge.fail(Fault::Stuck, "a timer stays due".into(), self.now);
        self.set_time(end);
    }

    fn set_time(&mut self, now: Duration) {
        self.now = now;
        self.outputs.now = now;
    }

    /// Ends the server.
    fn end(&mut self, is_success: bool) {
        self.events += 1;
        self.is_up = false;
        self.outputs.judge.handle_server_end();
        // A server may die without ending its last line.
        if let Some(line) = self.framer.finish() {
            self.relay.handle_server(&line, self.now, &mut self.outputs);
        }
        self.framer = LineFramer::new(self.relay.limits());
        self.relay.handle_server_silence();
        let how = if is_success { "exited with code 0" } else { "exited with code 1" };
        let ended = Ended::new(how, is_success);
        let after =
            self.relay.handle_server_end(&ended, !self.is_over, self.now, &mut self.outputs);
        match after {
            After::Start(at) => self.restart_at = Some(at),
            After::End => self.close("the session has ended"),
        }
        self.settle();
    }

    fn start(&mut self) {
        self.restart_at = None;
        self.is_up = true;
        self.restarts += 1;
        self.outputs.judge.handle_server_start();
        self.relay.handle_server_start(self.now, &mut self.outputs);
        self.settle();
    }

    fn close(&mut self, reason: &str) {
        self.relay.fail_all(reason, &mut self.outputs);
        self.restart_at = None;
        self.is_over = true;
    }

    /// Does what the relay wishes, and has the server answer what the relay asked for itself.
    fn settle(&mut self) {
        loop {
            match self.relay.take_action() {
                None => {}
                Some(DriverAction::KillServer) if self.is_up => self.end(false),
                Some(DriverAction::KillServer) => {}
                Some(DriverAction::EndLine) => self.end_line(),
                Some(DriverAction::EndSession) => {
                    self.close("the session was closed");
                    if self.is_up {
                        self.end(false);
                    }
                }
            }
            // Loops, because an answer can make the relay send the next request.
            let Some(line) = self.outputs.to_server.pop() else { return };
            if let Some(answer) = self.own_answer(&line).filter(|_| self.is_up) {
                self.events += 1;
                let line = Line::of_text(answer.as_bytes());
                self.relay.handle_server(&line, self.now, &mut self.outputs);
            }
        }
    }

    /// Ends the line that the server has begun, if the relay still wants that.
    fn end_line(&mut self) {
        if self.relay.try_end_line(self.framer.unfinished(), self.now)
            && let Some(line) = self.framer.cut()
        {
            self.events += 1;
            self.relay.handle_server(&line, self.now, &mut self.outputs);
        }
    }

    /// The answer of a server that was started again to what the relay asks it.
    fn own_answer(&self, line: &[u8]) -> Option<String> {
        if self.restarts == 0 {
            return None;
        }
        let (message, _) = parse(line)?;
        let id = message.get("id")?;
        let method = message.get("method")?.as_str()?;
        if method == "initialize" {
            let version = message.get("params")?.get("protocolVersion")?;
            return Some(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":{version},"capabilities":{{"tools":{{"listChanged":true}},"logging":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
            ));
        }
        let is_own = matches!(id, Json::String(id) if id.starts_with("hardline:"));
        is_own.then(|| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[]}}}}"#))
    }
}
