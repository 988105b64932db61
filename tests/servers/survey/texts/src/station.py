"""Reads the sensors of the weather station."""

import json
import re
import sys
from dataclasses import dataclass

LINE = re.compile(rb"^(?P<name>\w+)\s*=\s*(?P<value>-?\d+(?:\.\d+)?)\r?\n$")
RESET = "\033[0m"
HIDDEN = ("\u200b", "\u202e", "\x1b[31m")


@dataclass
class Reading:
    name: str
    value: float

    def message(self, number):
        return json.dumps({"jsonrpc": "2.0", "id": number, "result": {"name": self.name, "value": self.value}})


def parse(line: bytes) -> Reading | None:
    match = LINE.match(line)
    return Reading(match["name"].decode(), float(match["value"])) if match else None


if __name__ == "__main__":
    for number, line in enumerate(sys.stdin.buffer):
        if reading := parse(line):
            print(reading.message(number), flush=True)
        else:
            print(f"\033[31mbad line {number}: {line!r}{RESET}", file=sys.stderr)
