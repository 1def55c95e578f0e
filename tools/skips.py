#!/usr/bin/env python3
"""Names the tests of ctest's last run that were skipped for a reason that tests/allowed_skips.txt does not allow.

    tools/skips.py BUILD      prints `TEST: REASON` for each of them and exits 1 if there are any

Reasons are what tests print: `skipped: REASON` (a script), `skipped: FILE.CLASS.TEST: REASON` (one of its tests), or
what GoogleTest writes between `Skipped` and `[  SKIPPED ]`.
"""
import pathlib
import re
import sys

ALLOWED = pathlib.Path(__file__).resolve().parent.parent / "tests/allowed_skips.txt"
TEST = re.compile(r"^\d+/\d+ Test(?:ing)?: (.+)$")
SCRIPT = re.compile(r"^skipped: (?:([\w.]+\.[\w.]+|setUpClass \([\w.]+\)): )?(.+)$")
UNIT = re.compile(r"^\[  SKIPPED \] (\S+) \(\d+ ms\)$")


def skips(log: str):
    """(test, reason) of each skip in a log of ctest."""
    name, said = "", []
    for line in log.splitlines():
        if found := TEST.match(line):
            name, said = found.group(1), []
        elif found := SCRIPT.match(line):
            yield f"{name} {found.group(1)}" if found.group(1) else name, found.group(2)
        elif line.endswith(": Skipped"):
            said = []
        elif UNIT.match(line):
            yield name, " ".join(said)
        else:
            said = [*said[-3:], line] if line.strip() else said


def main() -> int:
    allowed = [re.compile(line.split(" | ")[0]) for line in ALLOWED.read_text(encoding="utf-8").splitlines()
               if line and not line.startswith("#")]
    log = pathlib.Path(sys.argv[1], "Testing/Temporary/LastTest.log").read_text(encoding="utf-8", errors="replace")
    bad = sorted({(name, why) for name, why in skips(log) if not any(one.fullmatch(why) for one in allowed)})
    for name, why in bad:
        print(f"{name}: {why or 'no reason told'}")
    if bad:
        print(f"{len(bad)} tests were skipped for reasons that {ALLOWED.name} does not allow")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
