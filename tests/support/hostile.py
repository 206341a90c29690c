"""What a job may print that would harm a page which takes it for more than text. A script that ran would show a dialog."""

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "<svg onload=alert(3)>",
    "</textarea></title></style><script>alert(4)</script>",
    "javascript:alert(5)",
    "\"><iframe src='javascript:alert(6)'>",
    "{{constructor.constructor('alert(7)')()}}${alert(8)}",
    "<a href='http://evil.example/'>click</a>",
    "\x1b]8;;http://evil.example/\x07link\x1b]8;;\x07",
    "\x1b]0;<script>alert(9)</script>\x07",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b[31<script>m",
    "\x1bP+q544e\x1b\\ \x1b[c \x1b[6n \x1b[?1049h",
    "\u202eevil\u202c \u2066x\u2069 \u200b\ufeff",
    "__proto__ constructor toString",
    "A" * 5000,
    "\u0041" + "\u0301" * 500,
)
