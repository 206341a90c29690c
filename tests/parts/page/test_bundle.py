"""Modules of the page become one script."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from outlive.parts.page import bundle

MODULES = {
    "first.js": 'import { twice as double, Box } from "./lib/numbers.js";\nconst late = await_it();\n'
    'async function await_it() {\n  const { name } = await import("./lib/late.js");\n'
    "  console.log(double(21), new Box().held, name);\n}\n",
    "lib/numbers.js": 'import { one } from "../one.js";\nexport function twice(x) {\n  return x * 2 * one;\n}\n'
    "export class Box { held = one; }\n",
    "one.js": 'throw new Error("this one is replaced");\n',
    "other.js": "export const one = 1;\n",
    "lib/late.js": 'let a="late";export{a as name};\n//# sourceMappingURL=late.js.map\n',
}


def test_imports_of_every_form_find_what_is_exported() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    script = bundle.bundled("first.js", MODULES.__getitem__, instead={"one.js": "other.js"})
    done = subprocess.run(
        [node, "--input-type=module"], input=script, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("42 1 late\n", "")


def test_a_form_that_is_not_known_is_refused() -> None:
    rows: list[str] = [
        'import thing from "./x.js";',
        'import * as all from "./x.js";',
        'import "./x.js";',
        "export let changing = 1;",
        "export default 1;",
        'export * from "./x.js";',
    ]
    for text in rows:
        with pytest.raises(ValueError, match=r"first\.js"):
            bundle.bundled("first.js", {"first.js": f"{text}\n"}.__getitem__, instead={})


def test_a_part_that_would_end_its_element_is_refused() -> None:
    for text in ["</script>", "</STYLE >", "<!-- x"]:
        with pytest.raises(ValueError, match="SCRIPT"):
            bundle.filled("<script>@SCRIPT@</script>", {"SCRIPT": f"const x = '{text}';"})


def test_parts_stand_in_a_document_as_they_are() -> None:
    assert bundle.filled("@A@ @B@", {"A": r"\1 @B@", "B": "b"}) == r"\1 @B@ b"
