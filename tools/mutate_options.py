#!/usr/bin/env python3
"""Ignores one option after the other, and says which test named for it in docs/compatibility.md passes all the same.

A page may call an option supported only when it names a test that fails without it. Here each such option is taken from the
command line before the program sees it, and its test has to fail. Golden and unit tests, verbs and daemons are left out, and
an option that a test gives in a script or a variable is still seen: such a row is to be looked at by hand.

A test that does not end within 150 s without the option proves nothing and is told as inconclusive.

  tools/mutate_options.py [--build build/dev] [--only REGEX] [--since REVISION | --changed] [--jobs N]

--changed is --since the upstream branch, or the commit before where that is this one: as clang-tidy has it in tools/test.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROW = re.compile(r"\| `(-[^`]*)` \| (.*)")
TESTED = re.compile(r"(?:supported|acts, not tested yet) \| `(system|issues):(\w+) ([\w.]+)`")
PERMUTES = {"squeue", "sinfo", "scancel", "sprio", "sstat", "sdiag", "sattach", "sbcast", "strigger", "scrontab", "scontrol"}
SUITES = collections.defaultdict(threading.Lock)  # one test of a file at a time: its users and numbers are the file's own
WRAPPER = '''#!/usr/bin/env python3
import os, sys
real, names, permutes, known = {real!r}, {names!r}, {permutes!r}, {known!r}
out, rest, at = [], sys.argv[1:], 0
while at < len(rest):
    word = rest[at]
    at += 1
    if word == "--":
        out += [word] + rest[at:]
        break
    if not word.startswith("-") or word == "-":
        out.append(word)
        if permutes: continue
        while at < len(rest) and rest[at] != ":": out.append(rest[at]); at += 1
        if at < len(rest): out.append(rest[at]); at += 1
        continue
    if word.startswith("--"):
        name, equals, _ = word.partition("=")
        if name not in known:
            full = [k for k in known if k.startswith(name)]
            name = full[0] if len(full) == 1 else name
        drop = name in names
        if not drop: out.append(word)
        if known.get(name) == "required" and not equals and at < len(rest):
            if not drop: out.append(rest[at])
            at += 1
        continue
    kept, i = "-", 1
    while i < len(word):
        name = "-" + word[i]
        kind = known.get(name, "none")
        value = word[i + 1:] if kind != "none" else ""
        after = kind == "required" and not value
        if name not in names:
            kept += word[i] + value
            if after and at < len(rest):
                out.append(kept); kept = "-"
                out.append(rest[at])
        if after: at += 1
        if kind != "none": break
        i += 1
    if kept != "-": out.append(kept)
os.execv(real, [{program!r}] + out)
'''


def rows():
    """PROGRAM, NAMES, SUITE, TEST of each option; SUITE (FOLDER/FILE) is None where no script is named."""
    program = None
    with open(os.path.join(ROOT, "docs/compatibility.md"), encoding="utf-8") as page:
        for line in page:
            if line.startswith("## "):
                program = line[3:].split()[0]
            found = ROW.match(line)
            if found and program:
                tested = TESTED.match(found[2])
                suite = (f"{tested[1]}/test_{tested[2]}.py", tested[3]) if tested else (None, None)
                yield (program, [name.strip() for name in found[1].split(",")], *suite)


def base_revision():
    """The revision of --changed; None where the history begins here."""
    ask = lambda name: subprocess.run(["git", "rev-parse", "-q", "--verify", name], cwd=ROOT, capture_output=True, text=True,
                                      check=False).stdout.strip()
    upstream = ask("@{upstream}")
    return upstream if upstream and upstream != ask("HEAD") else ask("HEAD~1") or None


def touched(revision):
    """The rows that a change since the revision has added to the page or changed on it, as (PROGRAM, NAMES)."""
    old = subprocess.run(["git", "show", f"{revision}:docs/compatibility.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    with open(os.path.join(ROOT, "docs/compatibility.md"), encoding="utf-8") as page:
        now = page.read()

    def lines(text):
        program = None
        for line in text.splitlines():
            program = line[3:].split()[0] if line.startswith("## ") else program
            if found := ROW.match(line):
                yield program, found[1], line
    return {(program, names) for program, names, _ in set(lines(now)) - set(lines(old))}


def kind_of(build, program, name):
    """Whether the option takes a value: asked of the program itself, which finds no configuration to act on."""
    env = dict(os.environ, SLURM_CONF="/nonexistent/slurm.conf")
    ask = lambda *words: subprocess.run([os.path.join(build, "bin", program), *words], capture_output=True, text=True, check=False,
                                        stdin=subprocess.DEVNULL, env=env, timeout=20).stderr
    if "requires an argument" in ask(name):
        return "required"
    if name.startswith("--") and "doesn't allow an argument" not in ask(name + "=x"):
        return "optional"
    return "none"


def mutated(build, folder, program, names, known):
    """A build folder whose PROGRAM does not see the options `names`."""
    for entry in os.listdir(build):
        if entry != "bin":
            os.symlink(os.path.join(build, entry), os.path.join(folder, entry))
    os.mkdir(os.path.join(folder, "bin"))
    for entry in os.listdir(os.path.join(build, "bin")):
        if entry != program:
            os.symlink(os.path.join(build, "bin", entry), os.path.join(folder, "bin", entry))
    path = os.path.join(folder, "bin", program)
    with open(path, "w", encoding="utf-8") as script:
        script.write(WRAPPER.format(real=os.path.join(build, "bin", program), names=names,
                                    permutes=program in PERMUTES, known=known, program=program))
    os.chmod(path, 0o755)


def with_class(path, test):
    """CLASS.TEST; the class is the one of the file that defines the test where the row names none."""
    if "." in test:
        return test
    owner = None
    with open(path, encoding="utf-8") as source:
        for line in source:
            found = re.match(r"class (\w+)", line)
            owner = found[1] if found else owner
            if line.startswith(f"    def {test}("):
                return f"{owner}.{test}"
    raise SystemExit(f"{path} has no {test}")


def passes(build, program, known, names, suite, test):
    """What becomes of the test with a program that does not see `names`: passes, fails, is skipped, is inconclusive."""
    path = os.path.join(ROOT, "tests", suite)
    with SUITES[suite], tempfile.TemporaryDirectory(prefix="sluice-mutation-") as folder:
        os.chmod(folder, 0o755)
        mutated(build, folder, program, names, known)
        env = dict(os.environ, SLUICE_BUILD=folder, PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=os.path.join(ROOT, "tests/system"))
        with open(os.path.join(folder, "said"), "w+", encoding="utf-8") as said_file, \
                subprocess.Popen([sys.executable, path, with_class(path, test)], cwd=os.path.dirname(path), env=env,
                                 stdout=subprocess.DEVNULL, stderr=said_file, start_new_session=True) as running:
            try:
                running.wait(timeout=150)
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGINT)  # so that it takes its cluster down
                running.wait()
                return "is inconclusive: it did not end within 150 s"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)  # commands that a failed test has left waiting
            said_file.seek(0)
            said = said_file.read()
    if "skipped=" in said:
        return "is skipped"
    return "passes" if running.returncode == 0 else "fails"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build/dev"))
    parser.add_argument("--only", default="", help="rows whose program, option or test matches")
    parser.add_argument("--since", help="rows that docs/compatibility.md had otherwise in this revision")
    parser.add_argument("--changed", action="store_true", help="--since the upstream branch, or the commit before")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    wanted = [row for row in rows() if row[2] and re.search(options.only, f"{row[0]} {' '.join(row[1])} {row[2]} {row[3]}")
              and os.path.exists(os.path.join(build, "bin", row[0]))]
    since = base_revision() if options.changed else options.since
    if since or options.changed:
        fresh = touched(since) if since else set()
        wanted = [row for row in wanted if (row[0], ", ".join(row[1])) in fresh]
    known = {}
    for program in {row[0] for row in wanted}:
        known[program] = {}
    for program, names, *_ in rows():
        if program in known:
            for name in names:
                known[program][name] = kind_of(build, program, names[0])
    tests = sorted({(program, suite, test) for program, _, suite, test in wanted})
    cases = [(program, [], suite, test) for program, suite, test in tests] + wanted  # first: each passes with all its options
    findings = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        verdicts = pool.map(lambda case: passes(build, case[0], known[case[0]], *case[1:]), cases)
        for at, ((program, names, suite, test), verdict) in enumerate(zip(cases, verdicts), 1):
            if verdict != ("fails" if names else "passes"):
                findings += 1
                print(f"{program} {', '.join(names) or 'with all options'}: {suite} {test} {verdict}", flush=True)
            if at % 50 == 0:
                print(f"{at} of {len(cases)} looked at", flush=True)
    print(f"{len(wanted)} options, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
