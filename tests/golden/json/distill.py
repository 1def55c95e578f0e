#!/usr/bin/env python3
"""Writes what is known of the shape of Slurm's --json and --yaml beside this script, from outputs that were recorded.

    distill.py RECORDED/squeue-v0.0.44.json RECORDED/squeue-v0.0.44.yaml ...

Of JSON, a line for each path in the order of the output: the path ("jobs[].time_limit"), a tab, and the types of its
values. {"set", "infinite", "number"} is one type, "optional integer" or "optional float"; what stands in a list in upper
case is a "WORD". Of YAML, each different line without its value ("  !!str account: !!str").
tests/unit/cli/json_shape_test.cpp compares them with what is printed.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
SCALARS = {bool: "boolean", int: "integer", float: "float", str: "string", type(None): "null", list: "list"}


def kind(value):
    if not isinstance(value, dict):
        return SCALARS[type(value)]
    return "optional " + kind(value["number"]) if list(value) == ["set", "infinite", "number"] else "object"


def add(value, shape, in_list=False):
    """Notes a value in its shape: (types, shapes of what is in it by their part of the path)."""
    name = kind(value)
    if in_list and name == "string" and re.fullmatch("[A-Z_]+", value):
        name = "WORD"
    shape[0].add(name)
    if name == "object":
        for key, item in value.items():
            add(item, shape[1].setdefault("." + key, (set(), {})))
    elif name == "list":
        for item in value:
            add(item, shape[1].setdefault("[]", (set(), {})), in_list=True)


def lines_of_shape(shape, path=""):
    if path:
        yield f"{path.removeprefix('.')}\t{'|'.join(sorted(shape[0]))}"
    for part, inner in shape[1].items():
        yield from lines_of_shape(inner, path + part)


def lines_of_json(text):
    shape = (set(), {})
    add(json.loads(text), shape)
    return lines_of_shape(shape)


def lines_of_yaml(text):
    forms = (re.match(r" *(- )?(!!str \w+: )?!!\w+", line) for line in text.splitlines())
    return dict.fromkeys(form.group() for form in forms if form)


def main():
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        read = lines_of_yaml if path.suffix == ".yaml" else lines_of_json
        lines = read(path.read_text(encoding="utf-8"))
        (HERE / (path.name + ".txt")).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
