/* Find every git repository below directories: a thousand directories in a fifth of the time that a
 * script needs. scripts/sandbox_init.py compiles it and init.c into programs.py.
 *
 * argv: this program, the directories. On stdout stands, for each thing found, a letter, its path
 * and a NUL:
 *   g PATH   the directory PATH has an entry `.git`, in some case; what is in `.git` itself is not searched
 *   b PATH   the directory PATH has `HEAD`, and `objects` or `commondir`, as a repository without `.git`
 *   u PATH   the directory PATH could not be read, or lies too deep
 *   l PATH   a link whose text has the word outlive in it
 * Status: 0 all was searched, 1 there are too many directories, 2 a path is too long to be named.
 */
#include "calls.h"

#if defined(__x86_64__)
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call run\n");
enum { FOLDER = 0200000 | 0400000 | 02000000 };
#elif defined(__aarch64__)
__asm__(".globl _start\n_start: mov x0, sp\n b run\n");
enum { FOLDER = 040000 | 0100000 | 02000000 };
#endif

enum { AT_FDCWD = -100, LONGEST = 4000, DEEPEST = 512, MOST = 500000, DT_UNKNOWN = 0, DT_DIR = 4, DT_LNK = 10 };
struct entry { unsigned long ino; long off; unsigned short size; unsigned char type; char name[]; };

static char entries[DEEPEST + 1][32768] __attribute__((aligned(8))); /* of each directory on the way */
static char path[LONGEST];
static char output[65536];
static long written, searched;

static char lower(char one) { return one >= 'A' && one <= 'Z' ? one + 32 : one; }

/* Compare as a file system does that ignores case: there `.GIT` is `.git`. */
static int same(const char *one, const char *other) {
    while (*one && lower(*one) == lower(*other))
        one++, other++;
    return lower(*one) == lower(*other);
}

/* `.GIT` is searched: where case counts git does not know it, and what is in it is like any directory. */
static int is_git(const char *name) {
    return name[0] == '.' && name[1] == 'g' && name[2] == 'i' && name[3] == 't' && !name[4];
}

static int holds(const char *text, const char *word) {
    for (; *text; text++) {
        long at = 0;
        while (word[at] && text[at] == word[at])
            at++;
        if (!word[at])
            return 1;
    }
    return 0;
}

static void flush(void) {
    for (long at = 0, done; at < written; at += done)
        if ((done = call(WRITE, 1, (long)(output + at), written - at, 0, 0, 0)) <= 0)
            call(EXIT, 3, 0, 0, 0, 0, 0);
    written = 0;
}

static void found(char kind) {
    if (written > (long)sizeof output - LONGEST - 2)
        flush();
    output[written++] = kind;
    for (long at = 0; path[at]; at++)
        output[written++] = path[at];
    output[written++] = 0;
}

static void finish(int status) {
    flush();
    for (;;)
        call(EXIT, status, 0, 0, 0, 0, 0);
}

/* Add a name to the path of its directory. Return the new length, 0 if it is too long. */
static long put(long length, const char *name) {
    long at = length;
    if (at && path[at - 1] != '/')
        path[at++] = '/';
    for (; *name && at < LONGEST - 1; at++)
        path[at] = *name++;
    path[at < LONGEST ? at : LONGEST - 1] = 0;
    return *name || at >= LONGEST ? 0 : at;
}

/* Report a link that leads where jobs in sandboxes cache: what lies there is not searched. */
static void look_at_link(long folder, const char *name, long length) {
    static char text[4097]; /* PATH_MAX, and a NUL */
    long size = call(READLINKAT, folder, (long)name, (long)text, sizeof text - 1, 0, 0);
    if (size > 0)
        text[size] = 0;
    if (size > 0 && holds(text, "outlive") && put(length, name))
        found('l');
    path[length] = 0;
}

/* Search an open directory, whose path has this length, and close it. */
static void search(long folder, long length, int depth) {
    int git = 0, head = 0, objects = 0, all = depth <= DEEPEST;
    long size = 0;
    if (++searched > MOST)
        finish(1);
    while (all && (size = call(GETDENTS64, folder, (long)entries[depth], sizeof entries[depth], 0, 0, 0)) > 0)
        for (long at = 0; at < size;) {
            struct entry *entry = (struct entry *)(entries[depth] + at);
            const char *name = entry->name;
            at += entry->size;
            if (same(name, ".") || same(name, ".."))
                continue;
            git |= same(name, ".git");
            head |= same(name, "HEAD");
            objects |= same(name, "objects") || same(name, "commondir");
            if (entry->type == DT_LNK || entry->type == DT_UNKNOWN)
                look_at_link(folder, name, length);
            if ((entry->type != DT_DIR && entry->type != DT_UNKNOWN) || is_git(name))
                continue;
            long inner = put(length, name), below = 0;
            if (inner)
                below = call(OPENAT, folder, (long)name, FOLDER, 0, 0, 0);
            if (inner && below >= 0)
                search(below, inner, depth + 1);
            else if (inner && below != -2 && below != -20 && below != -40) /* else it is gone, or no directory */
                found('u');
            all &= inner != 0;
            path[length] = 0;
        }
    call(CLOSE, folder, 0, 0, 0, 0, 0);
    if (size < 0 || !all)
        found('u');
    if (git)
        found('g');
    if (head && objects)
        found('b');
}

__attribute__((noreturn, used)) void run(long *stack) {
    char **argv = (char **)(stack + 1);
    for (long at = 1; at < *stack; at++) {
        long length = put(0, argv[at]), folder = call(OPENAT, AT_FDCWD, (long)argv[at], FOLDER, 0, 0, 0);
        if (!length)
            finish(2);
        if (folder >= 0)
            search(folder, length, 0);
        else
            found('u');
    }
    finish(0);
    __builtin_unreachable();
}
