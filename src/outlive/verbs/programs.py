"""Verbs that take over the process: `program` and `follow` name what does it."""

from outlive.verbs.spec import ANSWERS, BOOL, STR, STRS, TOOLS, Arg, Verb

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
COMPLETION = Verb(
    "completion",
    "Print a script that completes command lines of outlive in your shell.",
    group="Set up",
    program="outlive.parts.completion.main:main",
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
