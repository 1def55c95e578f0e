#!/usr/bin/env python3
"""Says where the tables of configuration keys and the code disagree about what acts.

A row that says `.acts<&C::kill_wait>()` promises that something reads `kill_wait`; a global key that
says `.keeps<...>()` promises that nothing does. Run from the repository root; prints each broken
promise and exits 1 when there is one; --fix changes the rows instead (then run unit_tables with
UPDATE_DOCS=1). That a member is read proves nothing about what is done with it: tests do that.
"""
import pathlib
import re
import sys

TABLES = pathlib.Path("src/common/tables")
FILES = ["conf_keys_a_to_o.cpp", "conf_keys_p_to_z.cpp", "conf_keys_lines.cpp"]
ROW = re.compile(r"    (?:key|node|part)\(\"(\w+)\".*?(?=\n    (?:key|node|part)\(|\n};)", re.S)
MEMBER = re.compile(r"\.(acts|adds|keeps)<&\w::(\w+)>\(\)")
# what lines of nodes and partitions hold until they are worked out
WORKED_OUT = {"names", "hostnames", "addresses", "ports", "cpus_set", "boards_set", "sockets_set",
              "sockets_per_board_set", "cores_set", "threads_set", "nodes_text"}
# read, but only to be passed on or shown: no effect of their own
ONLY_SHOWN = {"plugin_dir"}


def members_read() -> set:
    words = set()
    for path in pathlib.Path("src").rglob("*.[ch]pp"):
        if not path.is_relative_to("src/common/model") and not path.name.startswith("conf_"):
            words.update(re.findall(r"(?:\.|->|::)(\w+)", path.read_text()))
    return words


def corrected(row: str, is_global: bool, read: set):
    """The row as it should be, and the words for what was wrong with it (or None)."""
    match = MEMBER.search(row)
    if not match or match[2] in WORKED_OUT:
        return row, None
    kind, member = match[1], match[2]
    acts = kind != "keeps" and ".not_yet()" not in row
    if acts and member not in read:
        instead = match[0] + ".not_yet()" if kind == "adds" else match[0].replace("acts", "keeps")
        return row.replace(match[0], instead), f"acts, but nothing reads {member}"
    if is_global and not acts and member in read and member not in ONLY_SHOWN:
        instead = match[0].replace("keeps", "acts")
        return row.replace(match[0] + ".not_yet()", match[0]).replace(match[0], instead), \
            f"has no effect yet, but {member} is read"
    return row, None


def main() -> int:
    read, fix, broken = members_read(), "--fix" in sys.argv[1:], 0
    for name in FILES:
        path = TABLES / name
        text = path.read_text()
        for match in list(ROW.finditer(text)):
            row, wrong = corrected(match[0], name != "conf_keys_lines.cpp", read)
            if wrong:
                print(f"{path}: {match[1]} {wrong}")
                text = text.replace(match[0], row)
                broken += 1
        if fix:
            path.write_text(text)
    return 1 if broken and not fix else 0


if __name__ == "__main__":
    sys.exit(main())
