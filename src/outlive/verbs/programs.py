"""Verbs that take over the process: `program` and `follow` name what does it."""

from outlive import limits
from outlive.answers.administration import Ui
from outlive.verbs.spec import ANSWERS, BOOL, INT, JOB, PATH, STR, STRS, TOOLS, Arg, Verb

ATTACH = Verb(
    "attach",
    "Join your terminal to the terminal of a pty job.",
    group="Write to a job",
    follow="outlive.cli.live.attach:main",
    args=(JOB, Arg("read_only", BOOL, "Only watch: nothing is typed, and the size stays.", default=False)),
    detail="What you type goes to the job, and what the job prints comes to you; the size of its terminal follows yours. "
    "Ctrl-] d detaches, and the job goes on; Ctrl-] twice sends one Ctrl-]. Several people can attach at once: one holds "
    "the keyboard, and Ctrl-] k takes it. What a "
    "program reads with echo off, such as a password, is not stored anywhere. Of a job that waits for approval, with or "
    "without a terminal, attach shows the command and takes your answer.",
)
UI = Verb(
    "ui",
    "Show the jobs on a page in the browser: watch, search, type, kill, approve.",
    group="Read and wait",
    program="outlive.web.program:main",
    args=(
        Arg("no_open", BOOL, "Open no browser: print one object with the one-time link as `url`.", default=False),
        Arg("port", INT, "Port of this machine's loopback addresses to listen on (default: a free one, new each time).",
            minimum=0, maximum=65_535),
    ),
    result=Ui,
    detail="The page is served on this machine only, until ^C; jobs go on. The link opens it once, within ten minutes; from then "
    "on the browser is known until the server ends. If a page of this root is served already, a new link to it is made.",
)  # fmt: skip
HOOK = Verb(
    "hook",
    "Answer a hook of an agent host with what happened to its session's jobs.",
    group="Tell agents",
    program="outlive.cli.hook:main",
    args=(
        Arg("host", STR, "The host that calls.", required=True, cli="HOST", choices=("claude-code", "codex", "gemini")),
    ),
    detail="The host writes what happens to it on stdin, as JSON; the answer is JSON in the host's own form, or nothing. The "
    "notices are added to the conversation; at a stop the agent goes on with them. The exit status is always 0: "
    "a hook that fails would hold up the host.",
)
MCP = Verb(
    "mcp",
    "Serve MCP on stdin and stdout, to the client that starts this command.",
    group="Serve",
    program="outlive.mcp.stdio.main:main",
    args=(
        TOOLS,
        ANSWERS,
        Arg(
            "channel",
            BOOL,
            "Wake the client when one of its jobs ends or hits a watch, with notifications/claude/channel. Claude Code "
            "shows them if it was started with --channels, or during its preview with "
            "--dangerously-load-development-channels server:NAME, where NAME is this server's name in its configuration.",
            default=False,
        ),
        Arg(
            "isolate",
            BOOL,
            "Show this client only the jobs that it started over MCP. A client is known by the name it gives itself and "
            "the session or project in its environment. It can neither list nor read nor end the jobs of others.",
            default=False,
        ),
    ),
    detail="Jobs outlive the server: they go on when the client closes it.",
)
SERVE = Verb(
    "serve",
    "Serve MCP over HTTP, to clients that have a token.",
    group="Serve",
    program="outlive.mcp.http.serve:main",
    args=(
        Arg("host", STR, "Address to listen on (default: 127.0.0.1). Any address but this machine's own needs --certfile "
            "or --plaintext.", metavar="ADDRESS"),
        Arg("port", INT, f"Port to listen on (default: {limits.SERVE_PORT}); 0 takes a free one and prints it.", minimum=0,
            maximum=65_535),
        Arg("socket", STR, "Listen on a Unix socket (mode 0600) instead of a port.", metavar="PATH"),
        Arg("certfile", PATH, "Serve HTTPS with this certificate (PEM, with its chain)."),
        Arg("keyfile", PATH, "Private key of the certificate, if it is in a file of its own."),
        Arg("plaintext", BOOL, "Listen on other addresses without TLS. Everyone on the network can then read every token: "
            "only for a network that encrypts, or behind a proxy on another machine.", default=False),
        Arg("allow_host", STRS, "Name under which clients address this server, besides localhost and the address itself. "
            "NAME:PORT allows that port only.", default=(), metavar="NAME"),
        Arg("prefix", STR, "Beginning of the URL path that a reverse proxy removes, such as /outlive.", default="",
            metavar="PATH"),
        Arg("workdir", PATH, "Directory for jobs that name none. Without it every job has to name one.", metavar="DIR"),
        TOOLS,
        ANSWERS,
        Arg("stateless", BOOL, "Keep no sessions for clients of protocols before 2026-07-28. Several servers over one root "
            "can then share these clients, but the clients cannot subscribe to resources.", default=False),
    ),
    detail="Streamable HTTP is served at /mcp, SSE at /sse, the page of `outlive ui` at /ui. Every request needs a token, as `Authorization: Bearer TOKEN`. "
    "The first start makes the first token; `outlive token add NAME` makes more. Jobs outlive the server.\n\n"
    "With -v each request is logged on stderr, without its token.",
)  # fmt: skip
TOP = Verb(
    "top",
    "Show the jobs on one screen, with keys: open, follow, answer, kill, filter.",
    group="Read and wait",
    follow="outlive.cli.top.main:main",
    detail="It shows the newest 1,000 jobs of every directory and client, those that run first, and keeps them up to date. Below "
    "stand the last lines of the chosen job. Enter opens its output, a answers what it asks, x kills it after a question, / "
    "filters, ? shows all keys, q quits. It needs the package urwid: `pip install 'outlive[top]'`.",
)
COMPLETION = Verb(
    "completion",
    "Print a script that completes command lines of outlive in your shell.",
    group="Set up",
    program="outlive.cli.completion.main:main",
    args=(
        Arg(
            "shell",
            STR,
            "The shell; with --install by default that of $SHELL.",
            cli="SHELL",
            mcp="",
            choices=("bash", "zsh", "fish"),
        ),
        Arg("install", BOOL, "Write it where the shell looks for it.", default=False, mcp=""),
        # The script asks with the words that were typed behind `outlive`, the last of which is completed
        Arg("words", STRS, "The words of a command line.", default=(), cli="WORD", mcp="", hidden=True),
    ),
    detail="It completes verbs, options, and the titles and ids of your jobs; everywhere else the shell completes files. "
    "bash: put `source <(outlive completion bash)` into ~/.bashrc. zsh: put `source <(outlive completion zsh)` into "
    "~/.zshrc, behind compinit. fish: `outlive completion fish >~/.config/fish/completions/outlive.fish`. --install "
    "writes the file instead, and names it.",
)
DEMO = Verb(
    "demo",
    "Show in a few seconds that a job outlives its server.",
    group="Set up",
    program="outlive.demo:main",
    detail="The demo starts an MCP server and a client, runs a command in the background, kills the server with SIGKILL, "
    "looks at the job from the command line, reads on through a second server, and proves that no line is missing.\n\n"
    "It works in a temporary directory, which it deletes at the end; your jobs and your configuration are not touched. "
    "Exit status: 0 the proof holds, 1 it does not (the demo says why), 130 interrupted.",
)
