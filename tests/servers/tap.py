"""Stands before a server and keeps what it is given to read: tap.py FILE SERVER [ARGUMENT...]

Only the input goes through it, byte for byte; the server's output is its own.
"""

import os
import signal
import subprocess
import sys

CHUNK = 65_536


def main(path, command):
    server = subprocess.Popen(command, stdin=subprocess.PIPE)

    def stop(*_):
        server.kill()
        os._exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, stop)
    with open(path, "wb", buffering=0) as record:
        while chunk := os.read(0, CHUNK):
            record.write(chunk)
            server.stdin.write(chunk)
            server.stdin.flush()
    server.stdin.close()
    status = server.wait()
    return status if status >= 0 else 128 - status


sys.exit(main(sys.argv[1], sys.argv[2:]))
