/* System calls without a C library. */
#if defined(__x86_64__)
enum { READ = 0, WRITE = 1, CLOSE = 3, LSEEK = 8, EXIT = 60, GETDENTS64 = 217, OPENAT = 257, READLINKAT = 267 };
static inline __attribute__((always_inline)) long call(long n, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "+a"(n)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return n;
}
#elif defined(__aarch64__)
enum { OPENAT = 56, CLOSE = 57, GETDENTS64 = 61, LSEEK = 62, READ = 63, WRITE = 64, READLINKAT = 78, EXIT = 93 };
static inline __attribute__((always_inline)) long call(long n, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                  x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}
#endif
