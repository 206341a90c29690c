"""A ProxyCommand of ssh that delays what it carries: `python -IS slow_link.py HOST PORT`.

Each piece waits 5 to 40 ms, one in fifty 250 ms, as long as TCP takes to send a lost packet again.
"""

import os
import random
import socket
import sys
import threading
import time


def carry(read: int, write: int, sock: socket.socket) -> None:
    """Carry bytes until their end, then pass the end on."""
    try:
        while data := os.read(read, 1 << 16):
            time.sleep(0.25 if random.random() < 0.02 else random.uniform(0.005, 0.04))
            while data:
                data = data[os.write(write, data) :]
        if write == sock.fileno():
            sock.shutdown(socket.SHUT_WR)
            time.sleep(5)  # ssh has ended, killed perhaps while the link was down: then no other end is heard of
            os._exit(0)
    except OSError:
        os._exit(1)


def main() -> None:
    sock = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20)
    sock.settimeout(None)
    up = threading.Thread(target=carry, args=(0, sock.fileno(), sock), daemon=True)
    up.start()
    carry(sock.fileno(), 1, sock)


if __name__ == "__main__":
    main()
