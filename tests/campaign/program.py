"""What each job of a campaign runs: `python -IS program.py MODE LEDGER STEPS CODE LINES`.

It appends a line to LEDGER once for each time it runs. Then it writes its lines, as many as the file STEPS has bytes,
and goes on as that file grows; at a `.` in it, it writes a last line and exits with CODE. It imports nothing of the project.
"""

import os
import sys
import time


def put(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def line(mode: str, fd: int, number: int) -> bytes:
    """Return one line of output, with its newline as the program writes it."""
    if mode == "watch" and fd == 1 and number % 12 == 0:
        return b"hit %d\n" % number
    text = b"%s %d" % (b"err" if fd == 2 else b"out", number)
    if mode in ("quota", "disk"):
        text += b" " + b"x" * (number * 37 % 1500 + 500)
    return text + b"\n"


def released(path: str) -> tuple[int, bool]:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return 0, False
    return data.count(b"+"), data.endswith(b".")


def main() -> None:
    mode, ledger, steps, code, lines = sys.argv[1:]
    fd = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, b"run\n")
    os.close(fd)
    if mode == "stdin":
        while data := os.read(0, 4096):
            put(1, data)
    streams = (1,) if mode in ("terminal", "stdin") else (1, 2)
    number, over = 0, False
    while not over:
        allowed, over = released(steps)
        while mode != "stdin" and number < min(allowed, int(lines)):
            number += 1
            for stream in streams:
                put(stream, line(mode, stream, number))
            if number % 16 == 0:
                time.sleep(0.001)
        time.sleep(0.002)
    put(1, b"last\n")
    os._exit(int(code))


if __name__ == "__main__":
    main()
