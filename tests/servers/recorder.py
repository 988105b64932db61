"""The record of a session, for the clients that are written in Python.

A file of JSON lines: every chunk that the client wrote to or read from the process it started, and what
each step gave to the caller. `session.mjs` writes the same, and says why the SDKs' clients do not write
what the process ended with, as `raw.py` does.
"""

import base64
import json
from collections import Counter


class Recorder:
    """Writes the record, and counts what came over the wire, for the steps that wait for it."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8", buffering=1)
        self.rest = {"sent": b"", "received": b""}
        self.unanswered = {}
        self.came = Counter()
        self.sent = 0

    def write(self, event, **fields):
        self.file.write(json.dumps({"event": event, **fields}) + "\n")

    def see(self, direction, chunk):
        self.write(direction, process=0, data=base64.b64encode(chunk).decode())
        *lines, self.rest[direction] = (self.rest[direction] + chunk).split(b"\n")
        for line in lines:
            for message in elements(line):
                self.count(direction, message)

    def count(self, direction, message):
        """A request has come when it was answered, so that the answer and what follows keep their order."""
        method, number = message.get("method"), message.get("id")
        self.sent += direction == "sent"
        if direction == "received" and method is not None:
            if number is None:
                self.came[method] += 1
            else:
                self.unanswered[number] = method
        elif direction == "sent" and method is None and number in self.unanswered:
            self.came[self.unanswered.pop(number)] += 1

    def take(self, method):
        """Whether one more message of this method came than were taken."""
        has_come = self.came[method] > 0
        self.came[method] -= has_come
        return has_come

    def outcome(self, step, outcome):
        """Writes what a step gave, which must be an error if the step says so, and else must not."""
        self.write("outcome", step=step, outcome=outcome)
        if ("error" in outcome) != step.get("error", False):
            raise AssertionError(f"{json.dumps(step)}: {json.dumps(outcome)}")


def elements(line):
    """The messages of a line: one, those of a batch, or none if it is no JSON."""
    try:
        value = json.loads(line)
    except ValueError:
        return []
    return [it for it in (value if isinstance(value, list) else [value]) if isinstance(it, dict)]


def era(version):
    return "modern" if version >= "2026-07-28" else "legacy"


def steps(session, version):
    """The steps of a session that a client at this version takes."""
    return [it for it in session["steps"] if it.get("era", era(version)) == era(version)]
