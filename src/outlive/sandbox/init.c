/* The first process of a sandbox: it starts the command, reaps every orphan, and reports the start
 * and the end. scripts/sandbox_init.py compiles it into init_program.py.
 *
 * argv: this program, "t" (stdin is the terminal of the command) or "-", PATH, argv of the command.
 * Descriptors: 3 is a socket that keeps messages apart (SOCK_SEQPACKET), 4 the stderr of the
 * command, 5 and 6 stay open as long as anything in the sandbox lives. 2 takes what bwrap complains
 * of. The command inherits 0, 1 and 2 alone.
 *
 * Messages, each of two ints, in this order:
 *   1 0        from the command, right before execve(2): the kernel tells its pid to the receiver
 *   2 ERRNO    0, or why execve(2) failed; then nothing follows
 *   3 STATUS   the wait(2) status of the command
 */
#if defined(__x86_64__)
enum { CLOSE = 3, IOCTL = 16, SENDTO = 44, CLONE = 56, EXECVE = 59, EXIT = 60, WAIT4 = 61, FCNTL = 72,
       SETSID = 112, PRCTL = 157, DUP3 = 292 };
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call run\n");
static inline __attribute__((always_inline)) long call(long n, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "+a"(n)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return n;
}
#elif defined(__aarch64__)
enum { DUP3 = 24, FCNTL = 25, IOCTL = 29, CLOSE = 57, EXIT = 93, SETSID = 157, PRCTL = 167, SENDTO = 206,
       CLONE = 220, EXECVE = 221, WAIT4 = 260 };
__asm__(".globl _start\n_start: mov x0, sp\n b run\n");
static inline __attribute__((always_inline)) long call(long n, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                  x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}
#endif

enum { REPORT = 3, STDERR = 4, LAST_FD = 6 };
enum { READY = 1, STARTED = 2, ENDED = 3 };
enum { PR_SET_DUMPABLE = 4, F_SETFD = 2, FD_CLOEXEC = 1, TIOCSCTTY = 0x540E, MSG_NOSIGNAL = 0x4000 };
enum { CLONE_VM = 0x100, CLONE_VFORK = 0x4000, SIGCHLD = 17, WALL = 0x40000000, EINTR = 4 };

static void report(int kind, int value) {
    int message[2] = {kind, value};
    call(SENDTO, REPORT, (long)message, sizeof message, MSG_NOSIGNAL, 0, 0);
}

__attribute__((noreturn, used)) void run(long *stack) {
    char **argv = (char **)(stack + 1);
    char **environment = argv + *stack + 1;
    volatile int failed = 0;
    int status;
    call(PRCTL, PR_SET_DUMPABLE, 0, 0, 0, 0, 0); /* the command may not look into this process */
    call(DUP3, STDERR, 2, 0, 0, 0, 0);
    for (int fd = REPORT; fd <= LAST_FD; fd++)
        call(FCNTL, fd, F_SETFD, FD_CLOEXEC, 0, 0, 0);
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
    for (;;) {
        long ended = call(WAIT4, -1, (long)&status, WALL, 0, 0, 0);
        if (ended == child && !failed)
            report(ENDED, status);
        if (ended < 0 && ended != -EINTR)
            break;
    }
    for (;;)
        call(EXIT, 0, 0, 0, 0, 0, 0);
}
