"""Programs that run another command, which stands in their arguments, their input or a file.

The list is never complete: an allowed program can start any other. What is in it is unknown to the
rules, so no `allow` rule for another program decides it.
"""

from __future__ import annotations

import os

# Shells that read what commands_in.py splits alike
SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"})
_MORE_SHELLS = frozenset("rbash rksh rzsh ksh93 ksh2020 rksh93 lksh oksh loksh pdksh posh yash hush bash5 zsh5".split())
_WRAPPERS = frozenset(
    # Environment, rights, limits, scheduling
    "env sudo sudoedit doas pkexec su su-exec gosu runuser setpriv sg newgrp login nohup timeout nice ionice chrt taskset "
    "stdbuf unbuffer setsid prlimit choom numactl schedtool cpulimit softlimit chpst setuidgid envuidgid envdir capsh runcon "
    "aa-exec cgexec setarch linux32 linux64 uname26 i386 i486 i586 i686 x86_64 amd64 arm armv7l armv8l aarch64 ppc ppc32 ppc64 "
    "ppc64le s390 s390x mips mips32 mips64 riscv32 riscv64 sparc sparc32 sparc64 loongarch64 alpha ia64 parisc "
    # Namespaces, containers, supervisors
    "unshare nsenter chroot fakeroot fakechroot proot bwrap firejail systemd-run systemd-nspawn systemd-inhibit systemd-cat "
    "dbus-run-session dbus-launch ssh-agent start-stop-daemon daemon daemonize tini dumb-init catatonit execlineb run-parts "
    "at batch sem crontab "
    # Terminals and remote machines
    "script expect autoexpect tmux screen dtach abduco openvt rlwrap xterm uxterm lxterm x-terminal-emulator xvfb-run xinit "
    "startx ssh slogin rsh rexec autossh sshpass mosh socat ncat proxychains proxychains4 torsocks torify tsocks trickle "
    # Debuggers and measurements
    "strace ltrace gdb gdbserver lldb valgrind rr uftrace heaptrack hyperfine perf time catchsegv faketime eatmydata "
    # Many times, or on changes
    "xargs parallel env_parallel niceload rush xe watch watchexec entr nodemon chronic ifne mispipe lckdo flock "
    # Runners of packages, and caches in front of compilers
    "npx pnpx bunx uvx direnv dotenv ccache sccache distcc icecc "
    # Other shells, and boxes of programs
    "busybox toybox csh tcsh fish nu pwsh xonsh elvish rc es command outlive".split()
)
_FIND = "-exec -execdir -ok -okdir"
# Options that name a command. Long ones may be shortened, and a short one may stand among others
_OPTIONS = {
    **dict.fromkeys(("find", "gfind", "bfs"), _FIND),
    **dict.fromkeys(("fd", "fdfind"), "-x -X --exec --exec-batch"),
    "git": "--upload-pack --receive-pack --exec --exec-path --config-env --config --template --ext-diff --textconv --extcmd "
    "--open-files-in-pager --sendmail-cmd --to-cmd --cc-cmd",
    **dict.fromkeys(
        ("tar", "gtar", "bsdtar"),
        "-I -F --to-command --checkpoint-action --use-compress-program --info-script --new-volume-script --rsh-command --rmt-command",
    ),
    "rsync": "-e --rsh --rsync-path",
    **dict.fromkeys(("scp", "sftp"), "-S -o -D -F"),
    "sort": "--compress-program",
    "split": "--filter",
    "man": "-P -H --pager --html --preprocessor",
    "zip": "-TT --unzip-command",
    "tcpdump": "-z",
    **dict.fromkeys(("nc", "netcat"), "-e -c"),
    **dict.fromkeys(("apt", "apt-get", "aptitude"), "-o -c --option --config-file"),
    "dpkg": "--pre-invoke --post-invoke --status-logger",
    **dict.fromkeys(("gcc", "g++", "cc", "c++"), "-wrapper -fplugin -specs -B"),
    "go": "-exec -toolexec -vettool",
    "cargo": "--config",
    "libtool": "--mode",
    "wget": "--use-askpass",
}
# Subcommands behind which a command stands, or a place that says which one
_SUBCOMMANDS = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), "exec x dlx"),
    **dict.fromkeys(("uv", "poetry", "pipenv", "pipx", "hatch", "pdm", "rye", "conda", "mamba"), "run tool"),
    **dict.fromkeys(("mise", "asdf", "rtx", "bundle", "aws-vault", "doppler"), "exec x run"),
    **dict.fromkeys(("nix", "flatpak", "snap", "toolbox", "distrobox"), "run develop shell enter"),
    "git": "filter-branch difftool mergetool hook instaweb send-email daemon",
}
_WORDS = {  # the same, anywhere
    **dict.fromkeys(("docker", "podman", "nerdctl", "kubectl", "lxc", "incus", "machinectl"), "run exec debug shell"),
    "ip": "exec",
    "nix-shell": "--run --command",
}
_GIT_SHORT = {"clone": "-c -u", "rebase": "-x", "grep": "-O"}
_GIT_WORDS = {"submodule": "foreach", "bisect": "run"}
_GIT_READS = frozenset("--get --get-all --get-regexp --get-urlmatch --list -l list get".split())


def runs_another(argv: list[str]) -> str | None:
    """Return why it cannot be known from its name what a command runs; None if it can."""
    name = os.path.basename(argv[0])
    if name in _WRAPPERS or _is_loader(name):
        return f"`{name}` runs another command"
    if name in SHELLS | _MORE_SHELLS and (len(argv) == 1 or argv[1][:1] in ("-", "+", "")):
        return f"`{name}` runs what it is given"
    words = argv[1:]
    if (
        _has_option(words, _OPTIONS.get(name, ""))
        or {argv[at] for at in places(argv)} & {*_SUBCOMMANDS.get(name, "").split()}
        or {*words} & {*_WORDS.get(name, "").split()}
        or (name in ("tar", "gtar") and _is_old_cluster(words))
        or (name == "git" and _git_runs_another(argv))
    ):
        return f"`{name}` runs another command"
    return None


def places(argv: list[str]) -> list[int]:
    """Return where a subcommand may stand: behind options, which may have values or none."""
    reached = {1}
    for at in range(1, len(argv)):
        if at in reached and argv[at][:1] == "-":
            reached |= {at + 1, at + 2}
    return sorted(at for at in reached if at < len(argv))


def _is_old_cluster(words: list[str]) -> bool:
    """Return whether the first word holds options of tar without a dash, one of them with a command."""
    return bool(words) and words[0][:1] != "-" and bool({*words[0]} & {*"IF"})


def _git_runs_another(argv: list[str]) -> bool:
    if any(word.startswith("ext::") for word in argv):
        return True
    last = {argv[at]: at for at in places(argv)}
    first = {argv[at]: at for at in reversed(places(argv))}  # what stands behind another one stands behind it too
    return (
        any(word.startswith("-c") for word in first)  # a setting, such as an alias
        or any(_has_option(argv[first[word] :], _GIT_SHORT[word]) for word in _GIT_SHORT.keys() & first)
        or any(_GIT_WORDS[word] in argv[first[word] :] for word in _GIT_WORDS.keys() & first)
        or ("config" in last and not _GIT_READS.intersection(argv[last["config"] :]))
    )


def _is_loader(name: str) -> bool:
    """Return whether it is the dynamic loader, or an emulator: each runs the program in its arguments."""
    return (name.startswith("ld") and ".so" in name) or name.startswith(("qemu-", "box64", "box86", "wine"))


def _has_option(words: list[str], options: str) -> bool:
    return any(_is_option(word, option) for option in options.split() for word in words)


def _is_option(word: str, option: str) -> bool:
    """Return whether a word is this option: shortened, with its value, or among other letters."""
    if option.startswith("--"):
        given = word.partition("=")[0]
        return len(given) > 3 and option.startswith(given)
    if len(option) > 2:  # of find, gcc and go, which know no clusters
        return word.lstrip("-").partition("=")[0] == option[1:]
    return word[:1] == "-" and word[:2] != "--" and option[1] in word
