# SPDX-License-Identifier: GPL-2.0-only
"""./rnic build: CMake into a folder of build/, quiet unless it fails."""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys

from analysis.cli import setup
from analysis.cli.common import ROOT, Failure, jobs, say, show, tail, terminal

RELEASE = os.path.join(ROOT, "build")


def _cached(folder, key):
    """Value of a key in a CMake cache, None when there is none."""
    try:
        with open(os.path.join(folder, "CMakeCache.txt"), encoding="utf-8") as file:
            for line in file:
                if line.startswith(key + ":"):
                    return line.split("=", 1)[1].strip()
    except OSError:
        pass
    return None


def _forget(folder):
    """Drop the configuration in a build folder, not what else stands in it."""
    for name in ("CMakeCache.txt", "CMakeFiles"):
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.remove(path)


def _configure(folder, settings, log):
    """Run CMake when the folder is new, its settings changed, or files were listed since.

    A make file knows no target that came later, and asked for it does not look for it: so new
    lines in sources.txt are noticed here.
    """
    stamp = os.path.join(folder, "rnic-settings.txt")
    digest = hashlib.sha256()
    for name in ("CMakeLists.txt", "sources.txt"):
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    wanted = settings + [digest.hexdigest()]
    try:
        with open(stamp, encoding="utf-8") as file:
            known = file.read().split("\n")
    except OSError:
        known = [None]
    if _cached(folder, "CMAKE_HOME_DIRECTORY") != ROOT or known[:-1] != settings:
        _forget(folder)
    elif known == wanted:
        return
    call = ["cmake", "-S", ROOT, "-B", folder] + settings
    result = subprocess.run(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", check=False)
    log.write(result.stdout)
    if result.returncode != 0:
        raise Failure(f"cmake failed in {show(folder)}:\n{tail(result.stdout, 40)}", 1)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write("\n".join(wanted))


def make(folder, settings, targets=()):
    """Configure if needed and build the targets (all when none is named).

    Everything that cmake and the compilers say is in FOLDER/rnic-build.log. Raises Failure
    (status 1) with the end of it.
    """
    if shutil.which("cmake") is None:
        raise Failure("cmake is not installed; run ./rnic setup")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "rnic-build.log"), "w", encoding="utf-8") as log:
        _configure(folder, settings, log)
        call = ["cmake", "--build", folder, "-j", str(jobs())]
        if targets:
            call += ["--target"] + list(targets)
        kept = []
        with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace") as process:
            for line in process.stdout:
                log.write(line)
                kept.append(line)
                step = re.match(r"\[ *(\d+%)\] Building \S+ object (.*)", line)
                if step and terminal():
                    name = os.path.basename(step.group(2).strip())
                    sys.stdout.write(f"\rrnic: building {step.group(1):>4} {name[:50]:50}")
                    sys.stdout.flush()
        if terminal():
            sys.stdout.write("\r" + " " * 78 + "\r")
            sys.stdout.flush()
    if process.returncode != 0:
        raise Failure(f"the build in {show(folder)} failed:\n{_errors(kept)}", 1)


def _errors(lines):
    """The part of a build log worth showing: from the first error on."""
    for index, line in enumerate(lines):
        if re.search(r"\berror\b|undefined reference|Error \d+", line):
            return "".join(lines[max(0, index - 3):index + 40]).rstrip()
    return tail("".join(lines), 40)


def release(targets=()):
    """The build that ./rnic run uses, in build/."""
    if not os.path.exists(os.path.join(RELEASE, "CMakeCache.txt")):
        say("building into build/ (the first time takes a few minutes)")
    make(RELEASE, ["-DCMAKE_BUILD_TYPE=Release"], targets)


def main(argv):
    parser = argparse.ArgumentParser(prog="./rnic build",
                                     description="Build everything into build/ (Release).")
    parser.add_argument("target", nargs="*", help="CMake targets; all when none is named")
    options = parser.parse_args(argv)
    setup.install(setup.RUN_PACKAGES)
    release(options.target)
    say(f"built into {show(RELEASE)}")
    return 0
