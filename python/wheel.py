"""Builds the wheel of vramscope: the package beside this file, the program and the probe.

    python3 python/wheel.py VERSION GOARCH PROGRAM PROBE DIRECTORY

PROBE is vramscope_probe.py as `vramscope env --directory` writes it. The program is a script of the
wheel, so the installed command is the program itself. The types of the documents are made from
their JSON Schemas. The same input gives the same bytes: all times are SOURCE_DATE_EPOCH.
"""

import base64
import hashlib
import json
import keyword
import os
import re
import sys
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PLATFORMS = {"amd64": "x86_64", "arm64": "aarch64"}

METADATA = """Metadata-Version: 2.1
Name: vramscope
Version: {version}
Summary: A microscope for GPU memory in the terminal: who holds it, what it is, and what can be freed.
License: Apache-2.0
Requires-Python: >=3.8
Classifier: Environment :: Console
Classifier: Framework :: IPython
Classifier: Framework :: Pytest
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{description}"""

WHEEL = """Wheel-Version: 1.0
Generator: vramscope
Root-Is-Purelib: false
Tag: py3-none-manylinux_2_17_{platform}
Tag: py3-none-manylinux2014_{platform}
"""
ENTRY_POINTS = """[pytest11]
vramscope = vramscope.pytest_plugin
"""


class Types:
    """The types of the JSON Schemas, as TypedDicts. An object with properties becomes a class."""

    def __init__(self):
        self.schemas, self.classes = {}, {}

    def schema(self, file):
        if file not in self.schemas:
            with open(os.path.join(ROOT, "schema", file), encoding="utf-8") as opened:
                self.schemas[file] = json.load(opened)
        return self.schemas[file]

    def name(self, file, path):
        words = path[-1] if path else file.partition(".")[0] + "_document"
        return "".join(word.title() for word in words.split("_"))

    def define(self, file, path):
        """The type of a part of a schema."""
        part = self.schema(file)
        for key in path:
            part = part[key]
        if part.get("type") != "object" or "properties" not in part:
            return self.type(file, part)
        name, source = self.name(file, path), (file, path)
        if name not in self.classes:
            self.classes[name] = source, None
            lines = []
            for key, value in part["properties"].items():
                if not key.isidentifier() or keyword.iskeyword(key):
                    raise ValueError("%s: %s is no name in Python" % (file, key))
                lines.append("    %s: %s" % (key, self.type(file, value)))
            self.classes[name] = source, "class %s(TypedDict):\n%s\n" % (name, "\n".join(lines))
        elif self.classes[name][0] != source:
            raise ValueError("two objects are called %s: %s and %s" % (name, source, self.classes[name][0]))
        return name

    def type(self, file, part):
        if "$ref" in part:
            other, _, path = part["$ref"].partition("#")
            return self.define(other or file, [key for key in path.split("/") if key])
        if "oneOf" in part:
            return "Union[%s]" % ", ".join(self.type(file, one) for one in part["oneOf"])
        if "enum" in part or "const" in part:
            return "Literal[%s]" % ", ".join(map(repr, part.get("enum") or [part["const"]]))
        names = part.get("type", [])
        names = [names] if isinstance(names, str) else names
        known = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None", "object": "Dict[str, Any]"}
        found = ["List[%s]" % self.type(file, part["items"]) if name == "array" else known[name] for name in names]
        return "Union[%s]" % ", ".join(found) if len(found) > 1 else found[0] if found else "Any"

    def module(self, *files):
        for file in files:
            self.define(file, [])
        text = '"""The types of the program\'s JSON documents. Made from their JSON Schemas."""\n\n'
        text += "from __future__ import annotations\n\nfrom typing import Any, Dict, List, Literal, TypedDict, Union\n"
        return text + "".join("\n\n" + body for _, (_, body) in sorted(self.classes.items()))


def pep440(version):
    """Converts the version of a tag, or 0.0.0~DATE.COMMIT, to Python's notation (PEP 440)."""
    version = re.sub(r"^0\.0\.0~(\d+)\.(\w+)$", r"0.0.0.dev\1+\2", version)
    version = re.sub(r"-(rc)\.?(\d+)$", r"\1\2", version)
    if not re.fullmatch(r"\d+(\.\d+)*(rc\d+)?(\.dev\d+)?(\+\w+)?", version):
        sys.exit("wheel: %s is no version of Python's" % version)
    return version


def read(path):
    with open(path, "rb") as file:
        return file.read()


def build(version, architecture, program, probe, directory):
    version, platform = pep440(version), PLATFORMS[architecture]
    info, data = "vramscope-%s.dist-info/" % version, "vramscope-%s.data/scripts/" % version
    package = os.path.join(HERE, "vramscope")
    files = {"vramscope/" + name: read(os.path.join(package, name)) for name in os.listdir(package) if name.endswith((".py", ".typed"))}
    files["vramscope/documents.py"] = Types().module("once.schema.json", "headroom.schema.json").encode()
    files["vramscope_probe.py"] = read(probe)
    files[data + "vramscope"] = read(program)
    description = read(os.path.join(HERE, "README.md")).decode()
    files[info + "METADATA"] = METADATA.format(version=version, description=description).encode()
    files[info + "WHEEL"] = WHEEL.format(platform=platform).encode()
    files[info + "entry_points.txt"] = ENTRY_POINTS.encode()
    files[info + "licenses/LICENSE"] = read(os.path.join(ROOT, "LICENSE"))
    record = ""
    for name, content in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += "%s,sha256=%s,%d\n" % (name, digest, len(content))
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    path = os.path.join(directory, "vramscope-%s-py3-none-manylinux_2_17_%s.manylinux2014_%s.whl" % (version, platform, platform))
    when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    with zipfile.ZipFile(path, "w") as wheel:
        # The .dist-info files come last, as the specification of wheels recommends.
        for name in sorted(files, key=lambda name: (name.startswith(info), name)):
            member = zipfile.ZipInfo(name, when)
            member.create_system, member.compress_type = 3, zipfile.ZIP_DEFLATED
            member.external_attr = (0o100755 if name.startswith(data) else 0o100644) << 16
            wheel.writestr(member, files[name])
    return path


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    print(build(*sys.argv[1:]))
