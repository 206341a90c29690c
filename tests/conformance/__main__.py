"""The official conformance suite against this server, in one command, from the clone:

    python tests/conformance                 install the suite, start a server, run it, compare with baseline.toml
    python tests/conformance --serve PORT    only serve what the scenarios call; 0: on any port that is free

Needs `npm`, and the registry the first time; what is installed stays in $OUTLIVE_TEST_CACHE or ~/.cache/outlive-tests.
Exit status: 0 when all is as the baseline has it, 1 when not, 3 when the suite could not be installed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.suite import Baseline, Report

NOT_INSTALLED = 3


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", type=int, metavar="PORT", help="only serve, until SIGINT or SIGTERM")
    port = parser.parse_args(argv).serve
    sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest has it
    if port is not None:
        from conformance.fixture import serve

        serve(port)
        return 0
    return _judge()


def _judge() -> int:
    from conformance import npm, suite

    try:
        packages = npm.installed()
    except npm.Unavailable as reason:
        sys.stderr.write(f"{reason}\n")
        return NOT_INSTALLED
    known = suite.baseline()
    report = suite.judge(packages, known)
    sys.stdout.write(table(report, known))
    return 1 if report.wrong else 0


def table(report: Report, known: Baseline) -> str:
    """What passed in one line a revision, then every scenario with a remark, and what is wrong."""
    lines = []
    for revision in sorted({one.revision for one in report.outcomes}):
        of_it = [one for one in report.outcomes if one.revision == revision]
        whole = [one for one in of_it if not one.remarks]
        checks = sum(one.passed for one in of_it)
        lines.append(f"{revision}: {len(whole)} of {len(of_it)} scenarios pass whole, {checks} checks passed")
        for one in of_it:
            for check, (status, message) in one.remarks.items():
                reason = known.expected.get((*one.key, check), ("", f"not in the baseline: {message}"))[1]
                lines.append(f"  {status:8} {one.scenario}: {check}\n           {reason}")
    lines += [f"as expected on the second try only: {line}" for line in report.again]
    lines += [f"not run: {of} scenarios {name}: {reason}" for of, name, reason in known.not_applicable]
    lines += [f"WRONG: {line}" for line in report.wrong] or ["All is as the baseline has it."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
