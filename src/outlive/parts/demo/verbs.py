"""The verb of the demo."""

from outlive.verbs.spec import Verb

DEMO = Verb(
    "demo",
    "Show in a few seconds that a job outlives its server.",
    group="Set up",
    program="outlive.parts.demo.main:main",
    detail="The demo starts an MCP server and a client, runs a command in the background, kills the server with SIGKILL, "
    "looks at the job from the command line, reads on through a second server, and proves that no line is missing.\n\n"
    "It works in a temporary directory, which it deletes at the end; your jobs and your configuration are not touched. "
    "Exit status: 0 the proof holds, 1 it does not (the demo says why), 130 interrupted.",
)
