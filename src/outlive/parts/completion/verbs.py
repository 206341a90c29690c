"""The verb of completion."""

from outlive.verbs.spec import BOOL, STR, STRS, Arg, Verb

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
