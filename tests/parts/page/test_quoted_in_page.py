"""The page takes the same characters of a name for unseen as everything else, and has the same escapes for them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

import outlive
from outlive.core import quoted

DOM = Path(outlive.__file__).parent / "parts" / "page" / "static" / "dom.js"
SEQUENCES = ["⚠️", "⚠️️", "a️", "⠀️", "️", "❤️‍🔥", "⚡️ x", "\U0001d159️", "\n️", "é️"]
SCRIPT = """
import { name } from %s;
const found = [];
for (let code = 0; code < 0x110000; code++) {
  const char = String.fromCodePoint(code);
  found.push(/\\p{Cn}/u.test(char) ? null : name(char));
}
console.log(JSON.stringify([found, %s.map(name)]));
"""


def test_the_page_and_the_rest_agree_on_every_character() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    script = SCRIPT % (json.dumps(DOM.as_uri()), json.dumps(SEQUENCES))
    done = subprocess.run(
        [node, "--input-type=module"], input=script, capture_output=True, text=True, timeout=60, check=False
    )
    assert not done.stderr or done.returncode == 0, done.stderr
    found, sequences = json.loads(done.stdout)
    both = [
        code
        for code in range(sys.maxunicode + 1)  # but for what only the newer Unicode of the two knows
        if found[code] is not None and unicodedata.category(chr(code)) != "Cn"
    ]
    assert len(both) > 280_000
    assert [hex(code) for code in both if found[code] != quoted.visible(chr(code))] == []
    assert sequences == [quoted.visible(text) for text in SEQUENCES]
