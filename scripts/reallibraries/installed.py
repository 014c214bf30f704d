"""Prints what is wrong with a folder into which pip has installed packages, and nothing if it is whole.

    installed.py FOLDER NAME…
"""

import csv
import os
import re
import sys
import sysconfig

site, names = sys.argv[1], sys.argv[2:]


def wrong():
    packages = [name for name in os.listdir(site) if name.endswith(".dist-info")]
    found = {plain(name.partition("-")[0]) for name in packages}
    for name in names:
        if plain(name) not in found:
            return f"{name} is not in it"
    for package in packages:
        with open(os.path.join(site, package, "RECORD"), newline="", encoding="utf-8") as record:
            for path, _, size in csv.reader(record):
                if path.startswith(".."):  # a script, which pip puts elsewhere
                    continue
                other = re.search(r"\.(cpython-\d+\w*)-[^/]*\.so$", path)
                if other and other[1] not in sysconfig.get_config_var("EXT_SUFFIX"):
                    return f"it is for {other[1]}, and python3 is {sys.implementation.cache_tag}"
                if size and os.path.getsize(os.path.join(site, path)) != int(size):
                    return f"{path} has another size"
    return None


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


try:
    reason = wrong()
except OSError as problem:
    reason = str(problem)
if reason:
    sys.exit(reason)
