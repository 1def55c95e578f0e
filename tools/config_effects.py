#!/usr/bin/env python3
"""Says where the tables of configuration keys and the code disagree about what acts.

A row that says `.acts<&C::kill_wait>()` promises that something reads `kill_wait`; one that says
`.keeps<...>()` or `.not_yet()` promises that nothing does, and `.only("a,b")` that just these options
are looked for. Run from the repository root; prints each broken promise and exits 1 when there is one;
--fix changes the rows instead (then run unit_config with UPDATE_DOCS=1). That a member is read proves nothing about what is done with it: tests do that.
"""
import pathlib
import re
import sys

TABLES = pathlib.Path("src/common/config/keys")
MODEL = pathlib.Path("src/common/model")
FILES = ["conf_keys_a_to_o.cpp", "conf_keys_p_to_z.cpp", "conf_keys_lines.cpp"]
ROW = re.compile(r"    (?:key|node|part)\(\"(\w+)\".*?(?=\n    (?:key|node|part)\(|\n};)", re.S)
MEMBER = re.compile(r"\.(?:(acts|adds|keeps)<|acts_by\(\w+<)&\w::(\w+)>\(?\)")
OPTIONS = re.compile(r"\.only\(([^)]*)\)")
LOOKED_FOR = re.compile(r"\b(?:has_option|option_value)\(([^;{]*)")
# how the daemons call what a line of nodes or partitions gave
LINE_OWNER = r"\b(?:config|partition|node|c)(?:\.|->)(?=(\w+))"
# what lines of nodes and partitions hold until they are worked out
WORKED_OUT = {"names", "hostnames", "addresses", "ports", "cpus_set", "boards_set", "sockets_set",
              "sockets_per_board_set", "cores_set", "threads_set", "nodes_text"}
# read, but only to be passed on, shown, or to say that they have no effect of their own
ONLY_SHOWN = {"plugin_dir", "plug_stack_config"}


# what is read into these is only shown: the head of a document of JSON, the surroundings of a table's columns
SHOWING = re.compile(r"^\s*(?:document|context)\.\w+ = [^;]*;", re.M)


def sources() -> dict:
    """Without what only names the members: the structs of the model, the tables of the keys, and what shows them, to scripts of
    the site, too. What reads a file (conf_parse*) acts: it may read it or not."""
    def counts(path):
        names_only = path.name.startswith("conf_") and not path.name.startswith("conf_parse")
        shown_to_scripts = path == pathlib.Path("src/ctld/job_submit/cluster_records.cpp")
        return not names_only and not shown_to_scripts and not (path.is_relative_to(MODEL) and path.suffix == ".hpp")
    return {path: SHOWING.sub("", path.read_text()) for path in pathlib.Path("src").rglob("*.[ch]pp") if counts(path)}


def members_read(texts: dict) -> set:
    return {word for text in texts.values() for word in re.findall(r"(?:\.|->|::)(\w+)", text)}


def line_members_read(texts: dict) -> set:
    """Of lines of nodes and partitions, without those that a global key has as well."""
    shared = {match[2] for name in FILES[:2] for match in MEMBER.finditer((TABLES / name).read_text())}
    return {word for path, text in texts.items() if path.parts[1] in ("ctld", "noded") or path.is_relative_to(MODEL)
            for word in re.findall(LINE_OWNER, text)} - shared


def wrong_options(row: str, texts: dict):
    """Options that a row says act and nothing names, or that are looked for and the row does not say so."""
    match = OPTIONS.search(row)
    if not match or "kOptions" not in row or not MEMBER.search(row):  # without a member: who reads it looks at what was set
        return []
    said = set("".join(re.findall(r'"([^"]*)"', match[1])).split(","))
    whole = "".join(texts.values())
    member = MEMBER.search(row)[2]
    looked = {name for found in LOOKED_FOR.findall(whole) if member in found for name in re.findall(r'"(\w+)"', found)}
    return [f"acts on {name}, but nothing names it" for name in said if f'"{name}"' not in whole] + \
        [f"{name} is looked for, but it is not said to act" for name in looked - said]


def corrected(row: str, read: set, acting: set):
    """The row as it should be, and the words for what was wrong with it (or None). Members in `acting` are more than
    read somewhere: there they have an effect."""
    match = MEMBER.search(row)
    if not match or match[2] in WORKED_OUT:
        return row, None
    kind, member = match[1], match[2]
    acts = kind != "keeps" and ".not_yet()" not in row
    if acts and member not in read:
        instead = match[0].replace("acts", "keeps") if kind == "acts" else match[0] + ".not_yet()"
        return row.replace(match[0], instead), f"acts, but nothing reads {member}"
    if not acts and member in acting and member not in ONLY_SHOWN:
        instead = match[0].replace("keeps", "acts")
        return row.replace(match[0] + ".not_yet()", match[0]).replace(match[0], instead), \
            f"has no effect yet, but {member} is read"
    return row, None


def main() -> int:
    texts, fix, broken = sources(), "--fix" in sys.argv[1:], 0
    read, lines = members_read(texts), line_members_read(texts)
    for name in FILES:
        path = TABLES / name
        text = path.read_text()
        for match in list(ROW.finditer(text)):
            for wrong in wrong_options(match[0], texts):
                print(f"{path}: {match[1]} {wrong}")
                broken += 1
            row, wrong = corrected(match[0], read, lines if name == "conf_keys_lines.cpp" else read)
            if wrong:
                print(f"{path}: {match[1]} {wrong}")
                text = text.replace(match[0], row)
                broken += 1
        if fix:
            path.write_text(text)
    return 1 if broken and not fix else 0


if __name__ == "__main__":
    sys.exit(main())
