"""Which texts are secrets, and what is shown in their place."""

from __future__ import annotations

from outlive import verbs
from outlive.parts.masks import values
from outlive.parts.masks.masker import Masker
from outlive.parts.masks.secrets import masked_answer
from outlive.parts.masks.values import MaskedValue
from outlive.verbs import envelope

HEX = "0f9a3c77d1e84b20"
PEM = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\nVJTUt9Us8cKjMzEfYyjiWA4R4\nab=="
BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"


def shown(text: str, *secrets: MaskedValue, shapes: bool = True) -> str:
    return Masker(secrets, shapes=shapes).text(text)


def test_a_name_that_looks_secret() -> None:
    rows: list[str] = [
        "GITHUB_TOKEN", "TOKEN", "npm_config__authToken", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "DB_PASSWD", "X_AUTH",
        "OPENAI_API_KEY", "SIGNING_KEY", "GOOGLE_CREDENTIALS", "SECRET_KEY_BASE", "MYSQL_PWD", "GITHUB_PAT",
    ]  # fmt: skip
    for name in rows:
        assert values.has_secret_name(name)


def test_a_name_that_does_not() -> None:
    rows: list[str] = [
        "PATH",
        "HOME",
        "GIT_AUTHOR_NAME",
        "XAUTHORITY",
        "MONKEY",
        "SSH_PUBLIC_KEY",
        "TOKENIZERS_PARALLELISM",
        "SORT_KEY",
    ]
    for name in rows:
        assert not values.has_secret_name(name)


PLAIN_VALUES = [
    "short-7", "productive", "Production", "20261125", "1_000_000.5", "2026-11-25T10:00:00Z", "true",
    "$GITHUB_TOKEN", "/run/secrets/token", "~/.ssh/id_ed25519", "config/keys/prod.pem", "./Models/Llama3-8B",
    "https://a.example/oauth", "${DB_PASSWORD}", "$(pass show x)", "<your-token-here>", "********", "xxxxxxxxxxxx",
    "/home/User1/Projects/key",
]  # fmt: skip


def test_a_value_that_is_no_secret() -> None:
    assert [value for value in PLAIN_VALUES if values.is_secret(value) or values.of({"MY_TOKEN": value})] == []


def test_a_value_that_is_one() -> None:
    for value in [HEX, "hunter2-hunter2", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "correcthorse!"]:
        assert values.of({"MY_TOKEN": value, "OTHER": value}) == {MaskedValue(value, "MY_TOKEN")}


def test_of_a_url_the_password_is_secret_and_of_several_lines_each() -> None:
    assert values.of({"DATABASE_URL": "postgres://me:s3cr%2Bet-1@db:5432/x"}) == {
        MaskedValue("s3cr%2Bet-1", "DATABASE_URL"),
        MaskedValue("s3cr+et-1", "DATABASE_URL"),
    }
    assert values.of({"HOMEPAGE": "https://example.org:8080/a@b"}) == set()
    assert values.of({"KEY": f"first-{HEX}\nend\nlast-{HEX}\n"}) == {
        MaskedValue(f"first-{HEX}", "KEY"),
        MaskedValue(f"last-{HEX}", "KEY"),
    }


SHAPES = [
    ("ghp_" + "a1" * 18, "[masked: GitHub token]"),
    ("x=github_pat_11ABCDEFG_abcdefg!", "x=[masked: GitHub token]!"),
    ("glpat-abcdefGH1234567890xy", "[masked: GitLab token]"),
    ("key sk-ant-api03-" + "Ab3-_" * 10, "key [masked: API key]"),
    ("\x1b[32msk-proj-" + "a1B2" * 8 + "\x1b[0m", "\x1b[32m[masked: API key]\x1b[0m"),
    ("xoxb-123456789012-abcDEF", "[masked: Slack token]"),
    ("id AKIAIOSFODNN7EXAMPLE.", "id [masked: AWS key id]."),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[masked: Google key]"),
    ("npm_" + "a1" * 18, "[masked: npm token]"),
    ("hf_" + "aB" * 17, "[masked: Hugging Face token]"),
    ("pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAw", "[masked: PyPI token]"),
    ("sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc", "[masked: Stripe key]"),
    ("t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_1 ok", "t=[masked: JWT] ok"),
    ("origin https://me:pw@host/x.git (fetch)", "origin https://me:[masked: password]@host/x.git (fetch)"),
    ("> Authorization: Bearer abcd.efgh~1", "> Authorization: Bearer [masked: authorization]"),
    ("{'Authorization': 'token abc123def456'}", "{'Authorization': 'token [masked: authorization]'}"),
    ("(b'authorization', b'Basic dXNlcjpwYXNz')", "(b'authorization', b'Basic [masked: authorization]')"),
    ("bearer abc-123-def", "bearer [masked: Bearer token]"),
    (f"//registry.npmjs.org/:_authToken={HEX}", "//registry.npmjs.org/:_authToken=[masked: npm token]"),
    (f"export DB_PASSWORD='{HEX} and more'", "export DB_PASSWORD='[masked: DB_PASSWORD]'"),
    (f"_auth={HEX}\n//x/:_password={HEX}", "_auth=[masked: npm token]\n//x/:_password=[masked: npm token]"),
    (f'"A=1\\nDB_TOKEN={HEX}"', '"A=1\\nDB_TOKEN=[masked: DB_TOKEN]"'),
    (f'API_KEY="{HEX}"', 'API_KEY="[masked: API_KEY]"'),
    (f"+ X_SECRET={HEX} ./run", "+ X_SECRET=[masked: X_SECRET] ./run"),
    ("DB_AUTH_SECRET=https://u:p@h/", "DB_AUTH_SECRET=https://u:[masked: password]@h/"),
    (f"a\n{BEGIN}\n{PEM}\n{END}\nz", "a\n[masked: private key]\nz"),
    (f'"key": "{BEGIN}\\n{PEM}\\n{END}\\n"', '"key": "[masked: private key]\\n"'),
    (f"{BEGIN}\n{PEM[:60]}", "[masked: private key]"),
    (f"{PEM[-30:]}\n{END}\nz", "[masked: private key]\nz"),
    (f"{BEGIN}\n{PEM[:30]}\n[... 9 lines ...]\n{PEM[-9:]}\n{END}", "[masked: private key]\n[... 9 lines ...]\n[masked: private key]"),
]  # fmt: skip


def test_a_known_shape_is_masked_and_nothing_around_it() -> None:
    assert [(text, shown(text)) for text, _ in SHAPES] == SHAPES
    assert [shown(text, shapes=False) for text, _ in SHAPES] == [text for text, _ in SHAPES]


NO_SECRETS = [
    "token: str = field(help)", "TOKEN=abc", "MAX_TOKENS = 16384", "HF_TOKEN=/run/secrets/hf",
    "TOKEN=${CI_TOKEN:?}", "https://example.org:8080/a", "ssh://git@github.com/x", "mailto:me@host",
    "postgres://u:$PASS@h", "a@b.c:d", "authorization: required", "a bearer authentication scheme",
    "sk-learn-contrib-packages", "task-sk-x", "self._auth = self.make_auth(x1)",
    'START = "-----BEGIN PRIVATE KEY-----"', "sk-ecdsa-sha2-nistp256@openssh.com", "eyJhbGciOiJIUzI1NiJ9",
    "npm_config_registry=x", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "A perfectly normal line.\n" * 3, "päßwörter: ünbekannt", "SORT_BY=created-at-desc", "pypi-simple-index-mirror",
]  # fmt: skip


def test_what_is_no_secret_stays() -> None:
    assert [shown(text) for text in NO_SECRETS] == NO_SECRETS


def test_a_value_is_masked_under_its_name_wherever_it_stands() -> None:
    inner, outer = MaskedValue("inner-123", "INNER_TOKEN"), MaskedValue("outer:inner-123", "OUTER_TOKEN")
    text = "ünner inner-123, 'inner-123' outer:inner-123"
    masker = Masker([inner, outer], shapes=True)
    assert masker.text(text) == "ünner [masked: INNER_TOKEN], '[masked: INNER_TOKEN]' [masked: OUTER_TOKEN]"
    assert masker.met == {inner.text, outer.text}


def test_half_of_a_value_at_the_edge_of_a_line_is_masked() -> None:
    rows: list[tuple[str, str]] = [
        ("a line 0f9a3c77d1", "a line [masked: T]"),
        ("a line '0f9a3c77d1…'\nnext", "a line '[masked: T]…'\nnext"),
        ("77d1e84b20 end", "[masked: T] end"),
        ("one 0f9a3c77d\n1e84b20x", "one [masked: T]\n1e84b20x"),
        ("0f9a3c7", "0f9a3c7"),
        ("0f9a3c77d1 is followed", "0f9a3c77d1 is followed"),
        ("a 0f9a3c77d1 [... 30 more characters] (× 2)\nb", "a [masked: T] [... 30 more characters] (× 2)\nb"),
        ("0f9a3c77d1e84b2 [... 1 more characters]", "[masked: T] [... 1 more characters]"),
    ]
    for text, masked in rows:
        assert shown(text, MaskedValue(HEX, "T")) == masked


def test_rows_of_a_screen_keep_their_numbers() -> None:
    rows = ["$ cat key", BEGIN, *PEM.split("\n"), END, "$ "]
    masked = Masker([], shapes=True).value(rows)
    assert masked == ["$ cat key", "[masked: private key]", "", "", "", "", "$ "]


def test_places_and_ids_are_not_masked_and_all_other_texts_are() -> None:
    secret = MaskedValue("my-project", "WEAK_TOKEN")
    job = {"job_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "state": "running"}
    full = envelope.answer(
        "status",
        {
            **job,
            "name": "my-project",
            "cwd": "/src/my-project",
            "hint": "Look at my-project.",
            "next_seq": 10,
            "pid": None,
        },
    )
    found = masked_answer(full, Masker([secret], shapes=True))
    assert found["cwd"] == "/src/my-project"
    assert found["name"] == "[masked: WEAK_TOKEN]"
    assert found["hint"] == "Look at [masked: WEAK_TOKEN]."
    assert {name: found[name] for name in ("job_id", "state", "next_seq", "pid", "masked_secrets")} == {
        **job, "next_seq": 10, "pid": None, "masked_secrets": 1,
    }  # fmt: skip
    assert masked_answer(full, None) == full


def test_only_places_are_exempt() -> None:
    """A field that is new is masked, unless it says that callers use its text again."""
    exempt = {
        name
        for verb in ("run", "poll", "log", "tail", "wait", "events", "screen", "status", "list", "write", "kill", "gc")
        for name, field in verbs.fields_of(verb).items()
        if field.how.get("verbatim")
    }
    assert exempt == {"cwd", "stdout_log_path", "stderr_log_path", "root"}


def test_a_text_that_is_made_to_take_long_is_masked_like_any_other() -> None:
    rows: list[tuple[str, str]] = [
        ("sk-" * 10_000, "sk-" * 10_000),
        ("X_TOKEN=/aaaaaaaa" * 1_800, "X_TOKEN=/aaaaaaaa" * 1_800),
        (BEGIN * 1_000, BEGIN * 1_000),
        (f"{BEGIN}\nab==\n" * 1_000, "[masked: private key]\n" * 1_000),
        (HEX[:8] * 4_000, HEX[:8] * 3_999 + "[masked: T]"),
    ]
    for text, masked in rows:
        assert shown(text, MaskedValue(HEX, "T")) == masked
