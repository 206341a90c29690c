"""What a caller may say of the test report of a job."""

from outlive.verbs.spec import STR, Arg

ARGUMENTS = (
    Arg("report", STR, "Test report that the command writes, a path or a glob from its directory: JUnit XML, TAP, go test -json, "
        "JSON of pytest. Answers about the ended job have its counts and its failed tests.", metavar="PATH",
        mcp_help="its test report (path or glob)"),
)  # fmt: skip
