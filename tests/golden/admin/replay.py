#!/usr/bin/env python3
"""Replays what an administrator typed: the transcripts (*.txt) beside this file, against the present build.

A transcript is run by sh as root in namespaces of its own: what it writes to /etc, /usr/local, /var, /run and /root is in memory and
gone afterwards, and its network is loopback alone. Its form is that of the golden files (tests/golden/run.py): `$ command`,
what it prints, `# exit N`; `*` stands for any letters, a line `...` for any lines. Lines before the first command say what it is about.
`replay.py --write FILE...` writes what the present build answers into the files.
`replay.py --here [--write] FILE` does it on this very host: in the guest of tests/system/guest/run, for the transcripts in systemd/.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = os.path.abspath(os.environ.get("SLUICE_BUILD", HERE.parents[2] / "build/dev"))
FOLDERS = ["/etc", "/usr/local", "/var", "/root"]
SKIPPED = 77
LIMIT_S = 600  # of a command; what waits in a transcript has a limit of its own

spec = importlib.util.spec_from_file_location("golden", HERE.parent / "run.py")
golden = importlib.util.module_from_spec(spec)
spec.loader.exec_module(golden)


def mount(*words):
    subprocess.run(["mount", *words], check=True, capture_output=True)


def own_world():
    """Folders in memory over the host's, which stay as they are."""
    mount("-t", "tmpfs", "tmpfs", "/mnt")
    for folder in FOLDERS:
        upper, work = (f"/mnt/{part}{folder}" for part in ("upper", "work"))
        os.makedirs(upper)
        os.makedirs(work)
        mount("-t", "overlay", "overlay", "-o", f"lowerdir={folder},upperdir={upper},workdir={work}", folder)
    mount("-t", "tmpfs", "tmpfs", "/run")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for path in ("/etc/slurm", "/etc/default/slurmctld", "/etc/default/slurmd"):
        subprocess.run(["rm", "-rf", path], check=True)


def answers(command):
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C", "SOURCE": BUILD,
           "TESTS": HERE.parents[1]}
    done = subprocess.run(["sh", "-c", command], cwd="/root", env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False)
    return done.stdout.decode(errors="replace").splitlines() + [f"# exit {done.returncode}"]


def replay(path, write):
    """How many commands answered otherwise."""
    text = path.read_text(encoding="utf-8")
    written, failed = [text[:text.index("$ ")].rstrip("\n"), ""], 0
    for command, expected in list(golden.cases(path)):
        got = answers(command)
        written += [f"$ {command}", *got]
        if not write and not golden.matches(expected, got):
            failed += 1
            print(f"{path.name}: $ {command}\n  expected:", *expected, "  got:", *got, sep="\n    ")
    if write:
        path.write_text("\n".join(written) + "\n", encoding="utf-8")
    return failed


def inside(path, write):
    try:
        own_world()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: {error}")
        return SKIPPED
    return 1 if replay(path, write) else 0


def main():
    args = sys.argv[1:]
    if args[:1] == ["--inside"]:
        return inside(pathlib.Path(args[-1]), "--write" in args)
    if args[:1] == ["--here"]:
        return 1 if replay(pathlib.Path(args[-1]), "--write" in args) else 0
    apart = ["unshare", "-mnp", "--fork", "--mount-proc"]  # with processes of their own, so that nothing is left running
    if os.geteuid() != 0 or subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        print("skipped: needs root and namespaces of its own")
        return SKIPPED
    write = args[:1] == ["--write"]
    paths = [pathlib.Path(a).resolve() for a in args[write:]] or sorted(HERE.glob("*.txt"))
    codes = [subprocess.run([*apart, sys.executable, __file__, "--inside", *args[:write], path], check=False).returncode for path in paths]
    print(f"{len(paths)} transcripts, {sum(code not in (0, SKIPPED) for code in codes)} differ")
    return 1 if any(code not in (0, SKIPPED) for code in codes) else max(codes)


if __name__ == "__main__":
    sys.exit(main())
