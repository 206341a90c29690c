"""What a caller may say of the encoding of output."""

from outlive.verbs.spec import STR, Arg

ARGUMENTS = (
    Arg("encoding", STR, "Encoding of the output where it is not UTF-8, such as latin-1, cp1252, gbk or shift_jis: any that "
        "Python knows. UTF-16 with a byte order mark needs none.", metavar="NAME",
        hidden="mcp"),  # the answer that shows other bytes names it
)  # fmt: skip
