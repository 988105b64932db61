"""A client without an SDK, which speaks any protocol version: raw.py SESSION

It writes JSON lines itself, so what it sends does not depend on what a library thinks of it. Offered
the version that is the session's mode, a server that answers with another one is spoken to in that.
"""

import json
import queue
import subprocess
import sys
import threading
import time

from recorder import Recorder, elements, era, steps

WAIT_SECONDS = 20
# How long after its last answer a server may still say something.
QUIET_SECONDS = 0.2
META = "io.modelcontextprotocol/"
NAME = {"name": "hardline-test", "version": "1.0.0"}
CAPABILITIES = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}


class Client:
    def __init__(self, session):
        self.session = session
        self.version = session["mode"]
        self.recorder = Recorder(session["record"])
        self.last = 0
        self.answers = {}
        self.task = None
        self.ends_by_signal = False
        self.lines = queue.Queue()
        self.server = subprocess.Popen(
            session["command"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=session["env"],
            cwd=session["folder"],
        )
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.server.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, message):
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        self.recorder.see("sent", line)
        self.server.stdin.write(line)
        self.server.stdin.flush()

    def request(self, method, params, progress=False):
        """Sends a request. Returns its id."""
        self.last += 1
        self.send(self.message(self.last, method, params, progress))
        return self.last

    def message(self, number, method, params, progress=False):
        params = json.loads(json.dumps(params or {}).replace("${TASK}", self.task or ""))
        meta = params.setdefault("_meta", {})
        if progress:
            meta["progressToken"] = f"token-{number}"
        if era(self.version) == "modern":
            meta[META + "protocolVersion"] = self.version
            meta[META + "clientInfo"] = NAME
            meta[META + "clientCapabilities"] = CAPABILITIES
        if not meta:
            del params["_meta"]
        return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

    def notify(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method} | ({"params": params} if params else {}))

    def until(self, is_done, what):
        """Takes what the server sends until then."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not is_done():
            try:
                line = self.lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"{what} did not come in {WAIT_SECONDS} s") from None
            if line is None:
                raise AssertionError(f"the server ended before {what} came")
            self.take_line(line)

    def take_line(self, line):
        self.recorder.see("received", line)
        for message in elements(line):
            if "method" not in message:
                self.answers[message.get("id")] = message
            elif "id" in message:
                self.send({"jsonrpc": "2.0", "id": message["id"], **self.answer(message["method"])})

    def answer(self, method):
        match method:
            case "ping":
                return {"result": {}}
            case "roots/list":
                return {"result": {"roots": self.session["roots"]}}
            case "sampling/createMessage":
                return {"result": self.session["answers"]["sampling"]}
            case "elicitation/create":
                return {"result": self.session["answers"]["elicitation"]}
        return {"error": {"code": -32601, "message": "Method not found"}}

    def outcome(self, number):
        self.until(lambda: number in self.answers, f"the answer to {number}")
        answer = self.answers[number]
        return {key: answer[key] for key in ("result", "error") if key in answer}

    def open(self):
        if era(self.version) == "modern":
            outcome = self.outcome(self.request("server/discover", {}))
            if "result" in outcome:
                return
        # A server of the legacy era may be offered a version that it does not know, too.
        self.version, offered = "2025-11-25", self.version
        params = {"protocolVersion": offered, "capabilities": CAPABILITIES, "clientInfo": NAME}
        outcome = self.outcome(self.request("initialize", params))
        self.version = outcome["result"]["protocolVersion"]
        self.notify("notifications/initialized")

    def take(self, step):
        match step:
            case {"wait": method}:
                self.until(lambda: self.recorder.take(method), method)
            case {"notify": method}:
                self.notify(method)
            case {"together": together}:
                numbers = [self.request(it["do"], it.get("params")) for it in together]
                for it, number in zip(together, numbers):
                    self.recorder.outcome(it, self.outcome(number))
            case {"cancel": method, "params": params, "meanwhile": meanwhile}:
                number = self.request(method, params)
                for it in meanwhile:
                    self.take(it)
                self.notify("notifications/cancelled", requestId=number, reason="changed my mind")
            case {"batch": batch}:
                self.batch(batch)
            case {"end": _}:
                self.ends_by_signal = True
            case {"do": method}:
                number = self.request(method, step.get("params"), step.get("progress", False))
                outcome = self.outcome(number)
                self.task = outcome.get("result", {}).get("task", {}).get("taskId", self.task)
                self.recorder.outcome(step, outcome)

    def batch(self, batch):
        first = self.last + 1
        self.last += len(batch)
        numbers = range(first, first + len(batch))
        self.send([self.message(n, it["do"], it.get("params")) for n, it in zip(numbers, batch)])
        for it, number in zip(batch, numbers):
            self.recorder.outcome(it, self.outcome(number))

    def close(self):
        """Ends the session as the specification says, and takes the server's last words."""
        self.server.stdin.close()
        if self.ends_by_signal:
            self.server.terminate()
        while (line := self.lines.get(timeout=WAIT_SECONDS)) is not None:
            self.recorder.see("received", line)
        status = self.server.wait(WAIT_SECONDS)
        if not self.ends_by_signal:
            self.recorder.write("exit", process=0, status=status)

    def rest(self):
        """Gives the server time to say what nobody asked for."""
        deadline = time.monotonic() + QUIET_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            try:
                line = self.lines.get(timeout=left)
            except queue.Empty:
                return
            if line is None:
                raise AssertionError("the server ended before the session did")
            self.take_line(line)


def main(path):
    with open(path, encoding="utf-8") as file:
        session = json.load(file)
    client = Client(session)
    try:
        client.open()
        client.recorder.write("connected", version=client.version)
        for step in steps(session, client.version):
            if step.get("version", session["mode"]) == session["mode"]:
                client.take(step)
        client.rest()
        client.close()
        client.recorder.write("done")
    finally:
        client.server.kill()
        client.server.wait()


main(sys.argv[1])
