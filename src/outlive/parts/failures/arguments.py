"""What a caller may ask of failures."""

from outlive.verbs.spec import RUN, Arg

OF_LOG = (
    Arg("compare", RUN, "Show only lines of kinds that another run did not print, and which are gone: previous (the run before, of the "
            "same command in the same directory), passed (the last that ended with 0), or a job. Numbers, times, "
            "addresses and hashes make no kind.", metavar="RUN",
            mcp_help="what is new since true (last run), passed or a job"),
)  # fmt: skip
