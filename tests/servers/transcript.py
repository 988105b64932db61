"""Reads the records of two sessions and says where they differ.

What is compared: the lines that each process was sent, the lines that it sent, and what it ended with;
what the server read, if a tap stood before it; and what each step gave to the caller. Lines are
compared in their order and byte for byte, but for what `VARYING` lists. How the two directions
interleave is not compared: only their causal order is the protocol's, and that shows in the lines.
"""

import base64
import json
import re
from dataclasses import dataclass, field
from itertools import zip_longest

# What differs honestly from run to run, and why.
VARYING = [
    # The time server's answers, and when a task was created.
    (rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?", b"<time>"),
    # The time server again: midnight may fall between two runs.
    (rb'(day_of_week\\?": ?\\?")[A-Z][a-z]+day', rb"\1<day>"),
    # server-everything puts the time of day into its dynamic resources.
    (rb"\d{1,2}:\d\d:\d\d( |\xe2\x80\xaf|\\u202f)[AP]M", b"<time of day>"),
    # server-filesystem tells when a file was made, in JavaScript's way of writing it.
    (rb"[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4} \([^)]*\)", b"<date>"),
    # Tasks have random ids. Which is which is kept: see `Names`.
    (rb"\b[0-9a-f]{32}\b", None),
]

EXCERPT = 160


@dataclass
class Transcript:
    version: str | None = None
    is_done: bool = False
    # (process, direction) -> the bytes, in the order they went
    streams: dict = field(default_factory=dict)
    exits: dict = field(default_factory=dict)
    outcomes: list = field(default_factory=list)

    def count(self, direction):
        return sum(len(data.splitlines()) for (_, it), data in self.streams.items() if it == direction)


def read(path, tap=None):
    transcript = Transcript()
    with open(path, encoding="utf-8") as file:
        for line in file:
            take(transcript, json.loads(line))
    if tap:
        with open(tap, "rb") as file:
            transcript.streams[(0, "read by the server")] = file.read()
    return transcript


def take(transcript, event):
    match event["event"]:
        case "connected":
            transcript.version = event["version"]
        case "done":
            transcript.is_done = True
        case "exit":
            transcript.exits[event["process"]] = event["status"]
        case "outcome":
            transcript.outcomes.append(json.dumps([event["step"], event["outcome"]]).encode())
        case direction:
            key = event["process"], direction
            data = base64.b64decode(event["data"])
            transcript.streams[key] = transcript.streams.get(key, b"") + data


def differences(direct, wrapped):
    """What is not the same, in words; nothing if all is."""
    if direct.version != wrapped.version:
        yield f"version {direct.version} directly, {wrapped.version} through the wrapper"
    if direct.exits != wrapped.exits:
        yield f"exit status {direct.exits} directly, {wrapped.exits} through the wrapper"
    for key in sorted(direct.streams.keys() | wrapped.streams.keys()):
        number, direction = key
        streams = [one_line_each(it.streams.get(key, b"")) for it in (direct, wrapped)]
        lines = [stream.splitlines(keepends=True) for stream in streams]
        yield from differing(f"process {number}, {direction}", *lines)
    yield from differing("what the caller got", direct.outcomes, wrapped.outcomes)


def one_line_each(stream):
    """The stream with separators at which some readers end a line escaped, as the wrapper escapes them."""
    for raw, escape in ((b"\xe2\x80\xa8", rb"\u2028"), (b"\xe2\x80\xa9", rb"\u2029"), (b"\xc2\x85", rb"\u0085")):
        stream = stream.replace(raw, escape)
    return stream


def differing(what, direct, wrapped):
    """The first line that differs, since those after it only follow from it."""
    left, right = Names(), Names()
    pairs = zip_longest(map(left.normalized, direct), map(right.normalized, wrapped))
    for number, (ours, theirs) in enumerate(pairs, 1):
        if ours != theirs:
            yield f"{what}: line {number} of {len(direct)} directly, {len(wrapped)} through the wrapper"
            at = first_difference(ours or b"", theirs or b"")
            yield f"    directly, from byte {at}: {excerpt(ours, at)}"
            yield f"    through the wrapper:     {excerpt(theirs, at)}"
            return


class Names:
    """Random ids by the order in which they first occur, so that a swapped one is still seen."""

    def __init__(self):
        self.known = {}

    def name(self, match):
        number = self.known.setdefault(match.group(), len(self.known) + 1)
        return b"<id %d>" % number

    def normalized(self, line):
        for pattern, replacement in VARYING:
            line = re.sub(pattern, self.name if replacement is None else replacement, line)
        return line


def first_difference(left, right):
    pairs = zip_longest(left, right)
    return next(at for at, (ours, theirs) in enumerate(pairs) if ours != theirs)


def excerpt(line, at):
    if line is None:
        return "(nothing)"
    start = max(0, at - EXCERPT // 2)
    return ascii(line[start : start + EXCERPT])
