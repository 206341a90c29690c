"""Write schema/outlive.schema.json from the records of answers; where it has changed, with the time of now in it and in
parts/schema/document.py."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from outlive.parts.schema import document as schema

CODE = Path(schema.__file__)
FILE = Path(__file__).parent.parent / "schema" / "outlive.schema.json"


def main() -> None:
    document = schema.document()
    before: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    if before != {**document, "$comment": before["$comment"]}:
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.000Z"
        code = CODE.read_text(encoding="utf-8")
        CODE.write_text(re.sub(r'(?m)^CHANGED = ".*?"', f'CHANGED = "{now}"', code), encoding="utf-8")
        document["$comment"] = now
    FILE.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
