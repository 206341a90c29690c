"""The filter of system calls in a sandbox: a classic BPF program for seccomp(2).

It refuses what the namespaces do not: typing into a terminal (TIOCSTI, TIOCLINUX), new namespaces
and mounts, the keyrings and the log of the kernel, which no namespace separates, programs for the
kernel (bpf), io_uring, which makes sockets past the filter, the bits set-user-id and set-group-id, by
which another user of the machine would get the rights of this one, leases of files, by which a job
that only reads one keeps others from opening it, snapshots and subvolumes, which show what is covered
and can be made such that nobody can rename what is in them, and, without an open network, sockets of
families that a network namespace does not separate.
"""

from __future__ import annotations

import errno
import struct

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand

# linux/filter.h and linux/seccomp.h
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN, _AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NR, _ARCH, _ARG0, _ARG1 = 0, 4, 16, 24  # offsets of struct seccomp_data; arguments: their low 32 bits
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
# linux/btrfs.h: SNAP_CREATE, SUBVOL_CREATE, SNAP_DESTROY, the second of the first two, SUBVOL_SETFLAGS, SNAP_DESTROY_V2; and
# the type of every request of bcachefs
_SUBVOLUMES = (0x50009401, 0x5000940E, 0x5000940F, 0x50009417, 0x50009418, 0x4008941A, 0x5000943F)
# Type and number of requests, whose size differs between machines: what exchanges the content of files, and changes none of
# their times (EXT4_IOC_MOVE_EXT, F2FS_IOC_MOVE_RANGE, XFS_IOC_SWAPEXT, XFS_IOC_EXCHANGE_RANGE and COMMIT_RANGE), and what encrypts
# a directory, so that no search reads its names (FS_IOC_SET_ENCRYPTION_POLICY, ADD, REMOVE and REMOVE_ALL_USERS of its keys)
_FILES = (0x660F, 0xF509, 0x586D, 0x5881, 0x5883, 0x6613, 0x6617, 0x6618, 0x6619)
_ALL, _NUMBER, _TYPE, _BCACHEFS = 0xFFFFFFFF, 0xFFFF, 0xFF00, 0xBC00
_F_SETLEASE, _F_SETDELEG = 1024, 1040  # linux/fcntl.h
# sched.h: NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; NEWTIME for unshare(2) alone
_NEW, _NEW_TIME = 0x7E020000, 0x80
_X32 = 0x40000000  # numbers of the x32 interface of x86_64
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_FAMILIES = {"none": (_UNIX,), "loopback": (_UNIX, _INET, _INET6, _NETLINK)}

_SET_ID = 0o6000
_O_CREAT, _O_TMPFILE = 0o100, 0o20000000

# Architecture (linux/audit.h), then the numbers of its system calls. The second architecture of a
# machine is that of its 32-bit programs
_NAMES = (
    "ioctl clone unshare setns add_key request_key keyctl socket socketcall bpf "
    "chmod fchmod fchmodat open creat openat mkdir mkdirat mknod mknodat syslog fcntl fcntl64"
).split()
_X86_64 = (
    0xC000003E,
    (16, 56, 272, 308, 248, 249, 250, 41, None, 321, 90, 91, 268, 2, 85, 257, 83, 258, 133, 259, 103, 72, None),
)
_I386 = (
    0x40000003,
    (54, 120, 310, 346, 286, 287, 288, 359, 102, 357, 15, 94, 306, 5, 8, 295, 39, 296, 14, 297, 103, 55, 221),
)
_AARCH64 = (
    0xC00000B7,
    (29, 220, 97, 268, 217, 218, 219, 198, None, 280, None, 52, 53, None, None, 56, None, 34, None, 33, 116, 25, None),
)
_ARM = (
    0x40000028,
    (54, 120, 337, 375, 309, 310, 311, 281, None, 386, 15, 94, 333, 5, 8, 322, 39, 323, 14, 324, 103, 55, 221),
)
_MACHINES = {"x86_64": (_X86_64, _I386), "aarch64": (_AARCH64, _ARM)}
# The same everywhere
_CLONE3, _IO_URING_SETUP, _OPENAT2, _FCHMODAT2 = 435, 425, 437, 452
_MOUNTING = (428, 429, 430, 431, 432, 433, 442, 467)  # open_tree … fspick, mount_setattr, open_tree_attr
# Which argument has the mode, and which the flags that make it count (None: it always does)
_MODES = {
    "chmod": (1, None),
    "fchmod": (1, None),
    "fchmodat": (2, None),
    "creat": (1, None),
    "mkdir": (1, None),
    "mkdirat": (2, None),
    "mknod": (1, None),
    "mknodat": (2, None),
    "open": (2, 1),
    "openat": (3, 2),
}


def program(machine: str, network: str) -> bytes:
    """Return the filter for a machine, as os.uname() names it. Errors: KeyError for an unknown one."""
    code: list[Instruction] = []
    for arch, numbers in _MACHINES[machine]:
        body = _rules(dict(zip(_NAMES, numbers, strict=True)), _FAMILIES.get(network), x32=arch == _X86_64[0])
        code += [(_LOAD, 0, 0, _ARCH), (_EQUAL, 0, len(body), arch), *body]
    code.append(_refused(errno.ENOSYS))
    return b"".join(struct.pack("=HBBI", *one) for one in code)


def _refused(number: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | number)


_ALLOWED: Instruction = (_RETURN, 0, 0, _ALLOW)


def _rules(numbers: dict[str, int | None], families: tuple[int, ...] | None, *, x32: bool) -> list[Instruction]:
    denied = _refused(errno.EPERM)
    code: list[Instruction] = [(_LOAD, 0, 0, _NR)]
    if x32:
        code += [(_AT_LEAST, 0, 1, _X32), _refused(errno.ENOSYS)]
    # ENOSYS: programs fall back on clone(2) and openat(2), whose arguments a filter can read
    for number in (_CLONE3, _IO_URING_SETUP, _OPENAT2, *_MOUNTING):
        code += _on(number, [_refused(errno.ENOSYS)])
    for name, (mode, flags) in _MODES.items():
        code += _on(numbers[name], _no_set_id(mode, flags))
    code += _on(_FCHMODAT2, _no_set_id(2, None))
    for name in ("setns", "add_key", "request_key", "keyctl", "bpf", "syslog"):
        code += _on(numbers[name], [denied])
    code += _on(numbers["clone"], [(_LOAD, 0, 0, _ARG0), (_ANY_BIT, 0, 1, _NEW), denied, _ALLOWED])
    code += _on(numbers["unshare"], [(_LOAD, 0, 0, _ARG0), (_ANY_BIT, 0, 1, _NEW | _NEW_TIME), denied, _ALLOWED])
    code += _on(
        numbers["ioctl"],
        _without((_ALL, (_TIOCSTI, _TIOCLINUX, *_SUBVOLUMES)), (_NUMBER, _FILES), (_TYPE, (_BCACHEFS,))),
    )
    for name in ("fcntl", "fcntl64"):
        code += _on(numbers[name], _without((_ALL, (_F_SETLEASE, _F_SETDELEG))))
    if families is not None:
        last = len(families) - 1
        known: list[Instruction] = [(_EQUAL, last - at + 1, 0, family) for at, family in enumerate(families)]
        socket = [(_LOAD, 0, 0, _ARG0), *known, _refused(errno.EAFNOSUPPORT), _ALLOWED]
        code += _on(numbers["socket"], socket)
        code += _on(numbers["socketcall"], [denied])  # its arguments lie in memory, which a filter cannot read
    return [*code, _ALLOWED]


def _without(*refused: tuple[int, tuple[int, ...]]) -> list[Instruction]:
    """Refuse these values of the second argument, which says what a call does: (mask, values of what it leaves) each. Each
    mask has no bit that the one before has not."""
    code: list[Instruction] = [(_LOAD, 0, 0, _ARG1)]
    for mask, values in refused:
        code += [(_AND, 0, 0, mask), *((_EQUAL, 0, 0, value) for value in values)]
    code = [(what, len(code) - at if what == _EQUAL else 0, 0, value) for at, (what, _, _, value) in enumerate(code)]
    return [*code, _ALLOWED, _refused(errno.EPERM)]


def _no_set_id(mode: int, flags: int | None) -> list[Instruction]:
    """Refuse a mode with the bits set-user-id or set-group-id. Without a flag that makes a file the
    argument is no mode, and may be anything."""
    made: list[Instruction] = [
        (_LOAD, 0, 0, _ARG0 + 8 * mode),
        (_ANY_BIT, 0, 1, _SET_ID),
        _refused(errno.EPERM),
        _ALLOWED,
    ]
    if flags is None:
        return made
    return [(_LOAD, 0, 0, _ARG0 + 8 * flags), (_ANY_BIT, 1, 0, _O_CREAT | _O_TMPFILE), _ALLOWED, *made]


def _on(number: int | None, body: list[Instruction]) -> list[Instruction]:
    return [] if number is None else [(_EQUAL, 0, len(body), number), *body]
