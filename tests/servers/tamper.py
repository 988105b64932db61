"""A proxy that is not honest, to show that the comparison notices: tamper.py HOW SERVER [ARGUMENT...]

It copies lines both ways, but does to one of them what `HOW` says. The line is the fifth, which in a
session with server-memory is a notification that comes together with the sixth.
"""

import os
import signal
import subprocess
import sys
import threading

AT = 5


def copy(lines):
    return lines


def drop(lines):
    return lines[1:]


def swap(lines):
    return lines[::-1]


def twice(lines):
    return [lines[0], *lines]


def space(lines):
    """The same JSON, in other bytes."""
    return [lines[0].replace(b'"jsonrpc":', b'"jsonrpc": ', 1)]


def change(lines):
    """One letter of a string."""
    return [lines[0].replace(b"knowledge", b"knowledgf", 1)]


# name -> what is done, to how many lines, and whose they are
HOW = {
    "copy": (copy, 1, "server"),
    "drop": (drop, 1, "server"),
    "swap": (swap, 2, "server"),
    "twice": (twice, 1, "server"),
    "space": (space, 1, "server"),
    "change": (change, 1, "server"),
    "space-in-a-request": (space, 1, "client"),
}


def relay(source, target, tamper, count):
    held = []
    try:
        for number, line in enumerate(source, 1):
            held.append(line)
            if AT <= number < AT + count - 1:
                continue
            target.write(b"".join(tamper(held) if number == AT + count - 1 else held))
            target.flush()
            held = []
        target.close()
    except BrokenPipeError:
        pass  # Nobody reads any more: the end of the other direction says when to stop.


def main(how, command):
    tamper, count, whose = HOW[how]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    signal.signal(signal.SIGTERM, lambda *_: server.terminate())
    ways = {"client": (sys.stdin.buffer, server.stdin), "server": (server.stdout, sys.stdout.buffer)}

    def start(who):
        return relay(*ways[who], *((tamper, count) if who == whose else (copy, 1)))

    threading.Thread(target=start, args=("client",), daemon=True).start()
    start("server")
    return server.wait()


if __name__ == "__main__":
    # Not by returning: a thread may still wait for the client's next line.
    os._exit(main(sys.argv[1], sys.argv[2:]))
