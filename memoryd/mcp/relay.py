"""Relay between the client that starts it, over standard input and output, and a job's Unix socket.

It understands nothing of what it carries, and ends when either side does. Run as a script without the package: a client waits
for it, and this way it is there in an instant.
"""

import os
import selectors
import socket
import sys

_PIECE_BYTES = 65_536


def main(folder: str, name: str) -> int:
    # Relative to its folder: the path of a socket may have a hundred bytes or so, and the state directory may have more.
    os.chdir(folder)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(name)
    except OSError:
        return 1  # the job is gone
    with connection, selectors.DefaultSelector() as ready:
        ready.register(0, selectors.EVENT_READ)
        ready.register(connection, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                try:
                    if key.fd == 0:
                        data = os.read(0, _PIECE_BYTES)
                        connection.sendall(data)
                    else:
                        data = connection.recv(_PIECE_BYTES)
                        _write(data)
                except OSError:
                    return 0
                if not data:
                    return 0


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
