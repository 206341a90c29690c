/* The first process of a sandbox: it starts the command, reaps every orphan, and reports the start
 * and the end. scripts/sandbox_init.py compiles it and search.c into programs.py.
 *
 * argv: this program, "d", the arguments of bwrap: see keep_devices. Or: this program, "t" (stdin is the terminal of the command), "fPOSITION" (it is the file that is
 * mounted read-only as STDIN, from there on) or "-", with " " and the id of the job behind it, PATH, argv of the command. Or
 * with "x": nothing is reported, and the sandbox ends with the command, and with its status.
 * Descriptors: 3 is a socket that keeps messages apart (SOCK_SEQPACKET), 4 the stderr of the
 * command, 5 and 6 stay open as long as anything in the sandbox lives. 2 takes what bwrap complains of.
 * The command inherits 0, 1 and 2 alone, and 9 where it has a long script, which its shell closes.
 *
 * From 10 come the directories that may be written, each with a NUL behind it, and one NUL more: the
 * supervisor's word that this sandbox keeps all that is to be kept. Without that word nothing runs.
 *
 * Where the kernel has Landlock (landlock(7)), writes elsewhere are refused by it too, whatever is
 * mounted, and so are abstract Unix sockets and signals to processes outside. From 8 comes the filter of system calls.
 * 12 is /proc outside: that of the sandbox is read-only.
 *
 * Messages, each of two ints, in this order:
 *   1 0        from the command, right before execve(2): the kernel tells its pid to the receiver
 *   2 ERRNO    0, or why execve(2) failed; then nothing follows
 *   3 STATUS   the wait(2) status of the command
 */
#include "calls.h"

#if defined(__x86_64__)
enum { IOCTL = 16, GETUID = 102, GETGID = 104, CAPSET = 126, UNSHARE = 272, MOUNT = 165, SENDTO = 44, CLONE = 56, EXECVE = 59, WAIT4 = 61, FCNTL = 72, SETSID = 112, PRCTL = 157,
       DUP3 = 292 };
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call run\n");
#elif defined(__aarch64__)
enum { CAPSET = 91, UNSHARE = 97, GETUID = 174, GETGID = 176, MOUNT = 40, DUP3 = 24, FCNTL = 25, IOCTL = 29, SETSID = 157, PRCTL = 167, SENDTO = 206, CLONE = 220,
       EXECVE = 221, WAIT4 = 260 };
__asm__(".globl _start\n_start: mov x0, sp\n b run\n");
#endif

enum { REPORT = 3, STDERR = 4, LAST_FD = 6, FILTER = 8, SCRIPT = 9, WRITABLE = 10, PROC = 12 };
enum { READY = 1, STARTED = 2, ENDED = 3 };
enum { HERE = -100 }; /* AT_FDCWD */
enum { PR_SET_SECCOMP = 22, FILTERED = 2, PR_CAPBSET_DROP = 24, LAST_CAPABILITY = 63, CAPABILITIES_V3 = 0x20080522 };
enum { PR_SET_DUMPABLE = 4, F_SETFD = 2, FD_CLOEXEC = 1, TIOCSCTTY = 0x540E, MSG_NOSIGNAL = 0x4000 };
enum { F_GETFL = 3, NEW_MOUNTS = 0x20000, NEW_USER = 0x10000000, MS_RDONLY = 1, MS_NOSUID = 2, MS_NOEXEC = 8,
       MS_REMOUNT = 32, MS_BIND = 4096, MS_REC = 16384, MS_SLAVE = 1 << 19 };
enum { CLONE_VM = 0x100, CLONE_VFORK = 0x4000, SIGCHLD = 17, WALL = 0x40000000, EINTR = 4, EPERM = 1, EACCES = 13 };

/* linux/landlock.h; the numbers of the calls are the same everywhere */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, VERSION_FLAG = 1, PATH_BENEATH = 1 };
enum { WRITE_FILE = 1 << 1, TRUNCATE = 1 << 14, ALL_WRITES = WRITE_FILE | 0x7ff0, SCOPES = 3 };
enum { LEAST_VERSION = 3, /* before it renames between directories, or truncate(2), cannot be told apart */
       SCOPES_VERSION = 6, O_PATH_CLOEXEC = 02000000 | 010000000 };
struct ruleset { unsigned long files, ports, scopes; };
struct __attribute__((packed)) rule { unsigned long allowed; int fd; };

static void allow(long rules, long fd, long rights) {
    struct rule rule = {rights, (int)fd};
    call(ADD_RULE, rules, PATH_BENEATH, (long)&rule, 0, 0, 0);
}

static char paths[65536]; /* the directories that may be written */

/* Wait for the list of them, and return its size; 0 if the supervisor gave none. */
static long listed(void) {
    long size = 0, more;
    do {
        more = call(READ, WRITABLE, (long)(paths + size), sizeof paths - size, 0, 0, 0);
        size += more > 0 ? more : 0;
        if (size > 1 && !paths[size - 1] && !paths[size - 2])
            return size - 1;
    } while (more > 0 || more == -EINTR);
    return 0;
}

/* Return whether writes are limited to these directories as far as the kernel can. */
static int limit_writes(long size) {
    struct ruleset ruleset = {ALL_WRITES, 0, 0};
    long version = call(CREATE_RULESET, 0, 0, VERSION_FLAG, 0, 0, 0);
    if (version < LEAST_VERSION)
        return 1;
    if (version >= SCOPES_VERSION)
        ruleset.scopes = SCOPES;
    long rules = call(CREATE_RULESET, (long)&ruleset, version >= SCOPES_VERSION ? 24 : 8, 0, 0, 0, 0);
    if (rules < 0)
        return 0;
    for (long at = 0; at < size; at++) {
        long fd = call(OPENAT, -100, (long)(paths + at), O_PATH_CLOEXEC, 0, 0, 0);
        if (fd >= 0) {
            allow(rules, fd, ALL_WRITES);
            call(CLOSE, fd, 0, 0, 0, 0, 0);
        }
        while (at < size && paths[at])
            at++;
    }
    for (int fd = 1; fd <= STDERR; fd++) /* so that /dev/stdout can be opened again; stdin may be a file outside */
        if (fd != REPORT)
            allow(rules, fd, WRITE_FILE | TRUNCATE);
    long done = call(RESTRICT_SELF, rules, 0, 0, 0, 0, 0);
    call(CLOSE, rules, 0, 0, 0, 0, 0);
    return done == 0;
}

/* Open the file that the command reads on its mount, by which it can change nothing of it. Where that is
 * not allowed (root has no rights over files of others here), it could not change it either. */
static void open_stdin(const char *position) {
    long offset = 0, fd = call(OPENAT, -100, (long)"/dev/.stdin", 02000000, 0, 0, 0);
    if (fd < 0)
        return;
    while (*position >= '0' && *position <= '9')
        offset = offset * 10 + (*position++ - '0');
    call(LSEEK, fd, offset, 0, 0, 0, 0);
    call(DUP3, fd, 0, 0, 0, 0, 0);
    call(CLOSE, fd, 0, 0, 0, 0, 0);
}

static void report(int kind, int value) {
    int message[2] = {kind, value};
    call(SENDTO, REPORT, (long)message, sizeof message, MSG_NOSIGNAL, 0, 0);
}

static int write_file(int folder, const char *path, const char *text) {
    long size = 0, fd = call(OPENAT, folder, (long)path, 02000001, 0, 0, 0);
    while (text[size])
        size++;
    long done = call(WRITE, fd, (long)text, size, 0, 0, 0);
    call(CLOSE, fd, 0, 0, 0, 0, 0);
    return done == size;
}

/* Give this process mounts of its own. Root in a container may have no right to that, and makes a user
 * namespace for it, as bwrap does. */
static int separate_mounts(void) {
    if (!call(UNSHARE, NEW_MOUNTS, 0, 0, 0, 0, 0))
        return 1;
    return !call(UNSHARE, NEW_MOUNTS | NEW_USER, 0, 0, 0, 0, 0) && write_file(HERE, "/proc/self/setgroups", "deny") &&
           write_file(HERE, "/proc/self/uid_map", "0 0 1") && write_file(HERE, "/proc/self/gid_map", "0 0 1");
}

/* Write "NUMBER NUMBER 1" into a map of a user namespace: the only user, or group, has the same number inside. */
static int map(const char *path, long number) {
    char text[48];
    int at = sizeof text;
    text[--at] = 0;
    text[--at] = '1';
    for (int twice = 0; twice < 2; twice++) {
        long rest = number;
        text[--at] = ' ';
        do
            text[--at] = (char)('0' + rest % 10);
        while (rest /= 10);
    }
    return write_file(PROC, path, text + at);
}

/* Give this process mounts that belong to another user namespace than those they are copied from, and no right over either. Then
 * what is mounted on a directory stays on it, also for a process elsewhere that holds the directory open when the
 * sandbox has ended. Where the system allows no such namespace, or /proc is read-only outside, the sandbox is without. */
static int lock_mounts(void) {
    struct { unsigned version; int pid; } header = {CAPABILITIES_V3, 0};
    unsigned none[6] = {0, 0, 0, 0, 0, 0};
    long user = call(GETUID, 0, 0, 0, 0, 0, 0), group = call(GETGID, 0, 0, 0, 0, 0, 0);
    long map_fd = call(OPENAT, PROC, (long)"self/uid_map", 02000001, 0, 0, 0);
    long failed = map_fd >= 0 ? call(UNSHARE, NEW_MOUNTS | NEW_USER, 0, 0, 0, 0, 0) : -EPERM;
    if (failed && failed != -EPERM && failed != -EACCES) /* a job may have left no room for one */
        return 0;
    if (!failed &&
        !(write_file(PROC, "self/setgroups", "deny") && map("self/uid_map", user) && map("self/gid_map", group)))
        return 0;
    call(CLOSE, map_fd, 0, 0, 0, 0, 0);
    call(CLOSE, PROC, 0, 0, 0, 0, 0);
    for (int one = 0; one <= LAST_CAPABILITY; one++)
        call(PRCTL, PR_CAPBSET_DROP, one, 0, 0, 0, 0);
    return !call(CAPSET, (long)&header, (long)none, 0, 0, 0, 0);
}

static char filter[16384];

/* Return whether system calls are limited from here on (syscalls.py). */
static int limit_calls(void) {
    long size = call(READ, FILTER, (long)filter, sizeof filter, 0, 0, 0);
    struct { unsigned short count; char *code; } program = {(unsigned short)(size / 8), filter};
    call(CLOSE, FILTER, 0, 0, 0, 0, 0);
    return size > 0 && size < (long)sizeof filter && !call(PRCTL, PR_SET_SECCOMP, FILTERED, (long)&program, 0, 0, 0);
}

/* Execute bwrap where the devices that a sandbox shows are read-only, in mounts of its own. The devices are
 * those of the machine, and root owns them: it could change their mode for all. Their content is none of
 * a file system, so they can be written all the same. What bwrap mounts of them is read-only too. */
static int keep_devices(char **argv, char **environment) {
    static const char devices[][16] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"};
    char link[] = "/proc/self/fd/0", name[16];
    if (!separate_mounts() || call(MOUNT, 0, (long)"/", 0, MS_REC | MS_SLAVE, 0, 0))
        return 0;
    for (unsigned at = 0; at < sizeof devices / sizeof *devices; at++) {
        long device = (long)devices[at];
        if (call(MOUNT, device, device, 0, MS_BIND, 0, 0) ||
            call(MOUNT, 0, device, 0, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, 0, 0))
            return 0;
        for (int fd = 0; fd <= STDERR; fd++) { /* what is open is open on a mount that can be written */
            link[sizeof link - 2] = (char)('0' + fd);
            long size = call(READLINKAT, -100, (long)link, (long)name, sizeof name - 1, 0, 0);
            name[size > 0 ? size : 0] = 0;
            int same = 1;
            for (int i = 0; same && (i == 0 || name[i - 1]); i++)
                same = name[i] == devices[at][i];
            long how = call(FCNTL, fd, F_GETFL, 0, 0, 0, 0);
            long again = same && how >= 0 ? call(OPENAT, -100, device, 02000000 | how, 0, 0, 0) : -1;
            if (same && (again < 0 || call(DUP3, again, fd, 0, 0, 0, 0) < 0))
                return 0;
            if (same)
                call(CLOSE, again, 0, 0, 0, 0, 0);
        }
    }
    call(EXECVE, (long)argv[0], (long)argv, (long)environment, 0, 0, 0);
    return 0;
}

__attribute__((noreturn, used)) void run(long *stack) {
    char **argv = (char **)(stack + 1);
    char **environment = argv + *stack + 1;
    volatile int failed = 0;
    int status;
    if (argv[1][0] == 'd' && !keep_devices(argv + 2, environment)) {
        static const char why[] = "the devices cannot be made read-only\n";
        call(WRITE, 2, (long)why, sizeof why - 1, 0, 0, 0);
        call(EXIT, 1, 0, 0, 0, 0, 0);
    }
    if (!lock_mounts()) {
        static const char why[] = "the mounts of the sandbox cannot be locked: no user namespace is left (user.max_user_namespaces)\n";
        call(WRITE, 2, (long)why, sizeof why - 1, 0, 0, 0);
        call(EXIT, 127, 0, 0, 0, 0, 0);
    }
    call(PRCTL, PR_SET_DUMPABLE, 0, 0, 0, 0, 0); /* the command may not look into this process */
    call(DUP3, STDERR, 2, 0, 0, 0, 0);
    if (argv[1][0] == 'f')
        open_stdin(argv[1] + 1);
    for (int fd = REPORT; fd <= LAST_FD; fd++)
        call(FCNTL, fd, F_SETFD, FD_CLOEXEC, 0, 0, 0);
    long size = listed();
    if (!size)
        call(EXIT, 127, 0, 0, 0, 0, 0);
    if (!limit_writes(size) || !limit_calls()) {
        report(STARTED, EPERM);
        call(EXIT, 127, 0, 0, 0, 0, 0);
    }
    call(CLOSE, WRITABLE, 0, 0, 0, 0, 0);
    long child = call(CLONE, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0, 0);
    if (child == 0) { /* this process goes on when the child has called execve(2) or has ended */
        call(SETSID, 0, 0, 0, 0, 0, 0);
        if (argv[1][0] == 't')
            call(IOCTL, 0, TIOCSCTTY, 0, 0, 0, 0);
        report(READY, 0);
        failed = (int)-call(EXECVE, (long)argv[2], (long)(argv + 3), (long)environment, 0, 0, 0);
        call(EXIT, 127, 0, 0, 0, 0, 0);
    }
    if (child < 0)
        failed = (int)-child;
    report(STARTED, failed);
    for (int fd = 0; fd <= STDERR; fd++)
        if (fd != REPORT)
            call(CLOSE, fd, 0, 0, 0, 0, 0);
    call(CLOSE, SCRIPT, 0, 0, 0, 0, 0); /* it is in memory, as long as anyone has it open */
    for (;;) {
        long ended = call(WAIT4, -1, (long)&status, WALL, 0, 0, 0);
        if (ended == child && !failed)
            report(ENDED, status);
        if (ended == child && argv[1][0] == 'x') /* the kernel kills what is left before it reports the end of this process */
            call(EXIT, status & 127 ? 128 + (status & 127) : status >> 8, 0, 0, 0, 0, 0);
        if (ended < 0 && ended != -EINTR)
            break;
    }
    for (;;)
        call(EXIT, 0, 0, 0, 0, 0, 0);
}
