#!/usr/bin/env python3
"""clang-tidy on many files at once: what it spends is mostly spent on their headers, which the files of a folder share.

Files of one folder that are compiled alike are put one after the other into one file under build/dev/tidy/. Where that does
not compile, since two of them use a name of their own twice, they are looked at one by one.

  tools/tidy_groups.py FILE...
"""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build/dev")
MOST_LINES = 2000


def sources_of(file):
    """What an entry of the database compiles: itself, or the sources that CMake has put into one (SLUICE_UNITY)."""
    if "/Unity/unity_" not in file:
        return [file]
    with open(file, encoding="utf-8") as together:
        return re.findall(r'^#include "(.*)"$', together.read(), re.M)


def flags_of():
    """What each source is compiled with, but for its own name and its object's."""
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as database:
        entries = json.load(database)
    flags = {}
    for entry in entries:
        words = shlex.split(entry["command"])[1:]
        kept = [word for before, word in zip(["", *words], words) if before not in ("-o", "-c") and word not in ("-o", "-c")]
        for file in sources_of(entry["file"]):
            flags[os.path.relpath(file, ROOT)] = tuple(kept)
    return flags


def own_checks(folder):
    """What .clang-tidy of a folder below the root says beside it: a file under build/ would not find it."""
    while folder not in ("", "."):
        path = os.path.join(ROOT, folder, ".clang-tidy")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as config:
                return re.search(r"^Checks: '(.*)'$", config.read(), re.M)[1]
        folder = os.path.dirname(folder)
    return ""


def groups_of(files):
    flags = flags_of()
    open_groups, groups = {}, []
    for file in files:
        with open(os.path.join(ROOT, file), encoding="utf-8") as source:
            lines = sum(1 for _ in source)
        key = (os.path.dirname(file), flags[file])
        group = open_groups.get(key)
        if group is None or group["lines"] + lines > MOST_LINES:
            group = open_groups[key] = {"files": [], "lines": 0, "flags": flags[file], "checks": own_checks(key[0])}
            groups.append(group)
        group["files"].append(file)
        group["lines"] += lines
    return groups


def look(number, group):
    """The findings of a group, and whether it had to be taken apart."""
    path = os.path.join(BUILD, "tidy", f"{number}.cpp")
    places = [("", 0)]  # of each line: whose it is
    with open(path, "w", encoding="utf-8") as together:
        for file in group["files"]:
            with open(os.path.join(ROOT, file), encoding="utf-8") as source:
                for line_number, line in enumerate(source, 1):
                    together.write(line)
                    places.append((file, line_number))
    words = ["clang-tidy", "--quiet", *([f"--checks={group['checks']}"] if group["checks"] else []), path, "--", *group["flags"]]
    done = subprocess.run(words, cwd=BUILD, capture_output=True, text=True, check=False)
    if "clang-diagnostic-error" not in done.stdout:
        where = lambda found: "{}:{}:".format(*places[int(found[1])])
        return re.sub(rf"^{re.escape(path)}:(\d+):", where, done.stdout, flags=re.M) if done.returncode else "", False
    found = ""
    for file in group["files"]:
        words = ["clang-tidy", "--quiet", os.path.join(ROOT, file), "--", *group["flags"]]
        one = subprocess.run(words, cwd=BUILD, capture_output=True, text=True, check=False)
        found += one.stdout if one.returncode else ""
    return found, True


def main(files):
    os.makedirs(os.path.join(BUILD, "tidy"), exist_ok=True)
    groups = groups_of(files)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        tasks = {pool.submit(look, number, group): group for number, group in enumerate(groups)}
        for at, task in enumerate(concurrent.futures.as_completed(tasks), 1):
            found, apart = task.result()
            names = [os.path.basename(file) for file in tasks[task]["files"]]
            print(f"{at}/{len(groups)} {os.path.dirname(tasks[task]['files'][0])}: {' '.join(names)}{' (one by one)' if apart else ''}",
                  flush=True)
            if found:
                failed = 1
                print(found, flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
