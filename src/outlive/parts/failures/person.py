"""Programs that want a person: editors, pagers, dialogs, questions for a passphrase; and the way out of each."""

from __future__ import annotations

import re
from collections.abc import Sequence

EDITORS = frozenset(
    "editor sensible-editor vi vim vim.basic vim.tiny vim.nox nvim view nano pico emacs emacsclient joe jed mcedit micro "
    "hx helix kak ne tilde".split()
)
# Programs that fill a terminal, or ask there, by their name in the process table
FULL_SCREEN = EDITORS | frozenset(
    "less more most man top htop btop atop mc tig lazygit ranger nnn fzf tmux screen dialog whiptail mutt w3m lynx "
    "pinentry pinentry-curses pinentry-tty pinentry-gtk-2 pinentry-gnome3 pinentry-qt".split()
)
BATCH = frozenset("-es -Es -s --batch -batch --headless -b -script".split())  # options of these that need no person
# Programs that only start others: what started them is what wants the person
STARTERS = frozenset("sh bash dash zsh ksh ash env sudo timeout nice nohup xargs".split())
# Program that starts an editor or a pager → how it does without
_WITHOUT_EDITOR = {
    "git": "pass the text with -m or --no-edit, or set GIT_EDITOR=true",
    "hg": "pass the text with -m",
    "svn": "pass the text with -m",
    "jj": "pass the text with -m",
    "gh": "pass the text with --title and --body",
    "crontab": "pipe the whole table into `crontab -`",
    "visudo": "write the file yourself and check it with `visudo -cf FILE`",
    "systemctl": "write the file yourself, or use `systemctl edit --stdin`",
    "kubectl": "use `kubectl apply` or `kubectl patch`",
    "man": "pass -P cat",
}
_APT = "pass -y -o Dpkg::Options::=--force-confold, and set DEBIAN_FRONTEND=noninteractive"
_PAGER = "set PAGER=cat, MANPAGER=cat and GIT_PAGER=cat"
# Program that asks → how it does not. The first part of a name counts: gpg for gpg2, pinentry for pinentry-tty
_WITHOUT_ASKING = {
    "gpg": "pass --batch --pinentry-mode loopback --passphrase-fd 0, and the passphrase with stdin_data",
    "pinentry": "have gpg use --batch --pinentry-mode loopback --passphrase-fd 0",
    "openssl": "pass -passin and -passout (env:NAME or fd:0)",
    "ssh-keygen": "pass -N '' for a new key without a passphrase, -P with the old one",
    "keytool": "pass -storepass:env NAME and -dname",
    "psql": "pass --no-password, or set PGPASSWORD; for its pager --pset pager=off",
    "pip": "pass -y",
    "pip3": "pass -y",
    "ssh-add": "set SSH_ASKPASS and SSH_ASKPASS_REQUIRE=force, or use a key without a passphrase",
    "ssh": "use a key (BatchMode=yes fails at once instead of asking)",
    "sudo": "use `sudo -n`, or `sudo -S` with the password in stdin_data",
    "su": "use `sudo -n` or `setpriv`",
    "passwd": "pipe NAME:PASSWORD into `chpasswd`",
    "docker": "pass --password-stdin to `docker login`, and leave out -t",
    "podman": "pass --password-stdin to `podman login`, and leave out -t",
    "npm": "pass -y (npm init) or --yes; for npm login put a token into ~/.npmrc",
    "npx": "pass --yes",
    "yarn": "pass --yes",
    "apt": _APT,
    "apt-get": _APT,
    "dpkg": "pass --force-confold, which keeps changed files, and set DEBIAN_FRONTEND=noninteractive",
    "dnf": "pass -y",
    "yum": "pass -y",
    "pacman": "pass --noconfirm",
    "less": _PAGER,
    "more": _PAGER,
    "most": _PAGER,
    "top": "pass -b -n 1",
}
_WORD = re.compile(r"[\w./+-]+")


def way_of(names: Sequence[str]) -> str | None:
    """Return how the program does without a person that wants one; `names`: from the command down to the
    process in the foreground."""
    ways = {**_WITHOUT_EDITOR, **_WITHOUT_ASKING}
    asking = [name for name in names if name not in STARTERS]
    for name in reversed(asking):
        way = ways.get(name) or ways.get(name.partition("-")[0].rstrip("0123456789"))
        if way is not None:
            return way
    return "set EDITOR=true, which leaves the text as it is" if len(asking) > 1 and asking[-1] in EDITORS else None


def way_of_command(text: str) -> str | None:
    """Return how a program that a command names does not ask; None if none of them is known."""
    names = (word.rpartition("/")[2] for word in _WORD.findall(text[:4_000]))
    return next((_WITHOUT_ASKING[name] for name in names if name in _WITHOUT_ASKING), None)
