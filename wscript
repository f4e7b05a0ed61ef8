# SPDX-License-Identifier: GPL-2.0-only
"""waf: the second way to build, from the same sources.txt as CMake.

    standalone     python wscript configure build      against an installed ns-3 (Debian's names)
                   python wscript build --check        and runs the tests that have changed
    inside ns-3    the checkout as contrib/rnic of ns-3 3.35 or earlier; ns-3's own waf reads this

The python must have waf, which has no command of its own:
python3 -m venv DIR && DIR/bin/pip install waflib. Flags and version stand in CMakeLists.txt.
libFuzzer targets and sanitizers are CMake's alone.
"""

import os
import re
import sys

from waflib import Context

top = "."
out = "build/waf"

NS3_MODULES = "core network stats internet applications point-to-point".split()
C_FOLDERS = "model/wire model/core model/fabric model/engine model/live".split()
CXX_FLAGS = "-std=c++17 -O2 -g -fPIC".split()
CXX_WARNINGS = "-Wall -Wextra -Werror".split()


class Description:
    """What sources.txt and CMakeLists.txt say; paths are relative to this file's folder."""

    def __init__(self, ctx):
        self.ctx = ctx
        self.rows = [line.split() for line in self.read("sources.txt").split("\n")]
        self.cmake = self.read("CMakeLists.txt")
        self.c_flags = ["-std=c11", "-fPIC"] + self.setting(r"set\(RNIC_C_FLAGS ([^)]*)\)").split()
        self.c_warnings = self.setting(r"set\(RNIC_C_WARNINGS ([^)]*)\)").split()
        self.version = self.setting(r"set\(RNIC_VERSION ([^)]*)\)")

    def read(self, name):
        with open(os.path.join(self.ctx.path.abspath(), name), encoding="ascii") as file:
            return file.read()

    def setting(self, pattern):
        found = re.search(pattern, self.cmake)
        if not found:
            self.ctx.fatal("CMakeLists.txt has no %s any more: wscript reads it there" % pattern)
        return found.group(1)

    def listed(self, *kinds):
        """Every file of these kinds."""
        return [row[1] for row in self.rows if len(row) == 2 and row[0] in kinds]

    def sources(self, *kinds):
        """Those of them that are compiled."""
        return [path for path in self.listed(*kinds) if path.endswith((".c", ".cc"))]

    def whole(self, source):
        """A program with its parts: those of tool rnic-x are the files rnic-x-*."""
        parts = os.path.splitext(source)[0] + "-"
        return [source] + [path for path in self.sources("toolpart") if path.startswith(parts)]

    def c_sources(self):
        return self.sources("wire", "core", "fabric", "engine", "live")


def inside_ns3(ctx):
    """True when ns-3's own wscript called this one."""
    return ctx.path.abspath() != os.path.dirname(Context.g_module.root_path)


def options(opt):
    if inside_ns3(opt):
        return
    opt.load("compiler_c compiler_cxx waf_unit_test")
    opt.add_option("--asserts", action="store_true", default=False,
                   help="keep the C asserts, as RNIC_ASSERTS does for CMake")
    opt.add_option("--check", action="store_true", default=False,
                   help="run the C tests and the ns-3 TestSuites that have changed")


def configure(conf):
    if inside_ns3(conf):
        check_toml(conf)
        return
    conf.load("compiler_c compiler_cxx waf_unit_test")
    if conf.env.CC_NAME == "gcc":  # whole-program optimisation, as CMake has it
        del conf.env.AR
        conf.find_program("gcc-ar", var="AR")
        conf.env.RNIC_LTO = ["-flto=auto", "-fno-fat-lto-objects"]
    conf.env.RNIC_ASSERTS = conf.options.asserts
    conf.check_cc(lib="m", uselib_store="M")
    conf.check_cc(lib="z", uselib_store="ZLIB")
    check_header(conf, "ns3/simulator.h")
    conf.check_cxx(lib=["ns3-" + name for name in NS3_MODULES], uselib_store="NS3",
                   msg="Checking for the ns-3 libraries")
    # Debian builds ns-3 with logs on; our own asserts stay on as well.
    conf.env.DEFINES_NS3 = ["NS3_LOG_ENABLE", "NS3_ASSERT_ENABLE"]
    conf.env.RNIC_NS3_VERSION = ns3_version(conf)
    if not check_toml(conf):
        conf.fatal("toml++ is missing: install libtomlplusplus-dev")


def check_header(conf, name, **more):
    """Compiles only; waf's own check would also link, and define HAVE_... for every file."""
    return conf.check_cxx(fragment="#include <%s>\n" % name, features="cxx", cxxflags=CXX_FLAGS,
                          msg="Checking for header " + name, **more)


def check_toml(conf):
    """toml++ as a library where there is one, else headers only. @return whether there is any."""
    found = check_header(conf, "toml++/toml.h", mandatory=False)
    conf.env.RNIC_TOML = bool(found)
    if found and conf.check_cxx(lib="tomlplusplus", uselib_store="TOML", mandatory=False):
        conf.env.DEFINES_TOML = ["TOML_HEADER_ONLY=0", "TOML_SHARED_LIB=1"]
    return conf.env.RNIC_TOML


def ns3_version(conf):
    """3.37 for libns3-core.so.37: no header of ns-3 tells."""
    library = conf.cmd_and_log(conf.env.CXX + ["-print-file-name=libns3-core.so"]).strip()
    found = re.search(r"\.so\.(\d+)$", os.path.realpath(library))
    version = "3." + found.group(1) if found else "unknown"
    conf.msg("ns-3", version)
    return version


def build(bld):
    rnic = Description(bld)
    if inside_ns3(bld):
        build_module(bld, rnic)
        return
    c_library(bld, rnic)
    c_tests(bld, rnic)
    ns3_library(bld, rnic)
    ns3_programs(bld, rnic)
    if bld.options.check:
        from waflib.Tools import waf_unit_test  # the waf of ns-3 brings none
        bld.add_post_fun(waf_unit_test.summary)
        bld.add_post_fun(waf_unit_test.set_exit_code)


# ---- standalone ----

def tested(bld):
    """Feature that makes waf run a program; its folder is then the checkout."""
    return {"features": "test", "ut_cwd": bld.path} if bld.options.check else {}


def c_library(bld, rnic):
    flags = rnic.c_flags + rnic.c_warnings
    bld.stlib(target="rnic-c", source=rnic.c_sources(),
              cflags=flags + ["-O3"] + bld.env.RNIC_LTO,
              defines=[] if bld.env.RNIC_ASSERTS else ["NDEBUG"],
              includes=C_FOLDERS, export_includes=C_FOLDERS, use="M")
    for source in rnic.sources("tool"):
        bld.program(target=stem(source), source=rnic.whole(source), cflags=flags, use="rnic-c")


def c_tests(bld, rnic):
    """test/wire/icrc_test.c becomes test/wire/icrc_test, for --targets wire-icrc_test."""
    flags = rnic.c_flags + rnic.c_warnings
    if "clang" in bld.env.CC_NAME:
        flags.append("-Wno-string-conversion")  # CHECK(!"never here")
    folders = ["test", "test/vectors"]
    shared = [path for path in rnic.sources("support") if path.endswith(".c")]
    bld.stlib(target="rnic-test-support", source=shared, cflags=flags, includes=folders,
              export_includes=folders, use="rnic-c")
    for kind in ("ctest", "sim", "bench"):
        for source in rnic.sources(kind):
            path = os.path.splitext(source)[0]
            bld.program(target=path, name=path[len("test/"):].replace("/", "-"), source=source,
                        cflags=flags, use="rnic-test-support ZLIB",
                        **(tested(bld) if kind != "bench" else {}))


def ns3_library(bld, rnic):
    # #include "ns3/rnic-helper.h" works here as it does inside ns-3.
    for path in rnic.listed("header"):
        forward(bld, "include/ns3/" + os.path.basename(path), '#include "%s"\n' % path)
    folders = [".", bld.bldnode.make_node("include"), "model", "helper"]
    bld.stlib(target="rnic", source=rnic.sources("binding", "helper", "scenario"),
              cxxflags=CXX_FLAGS + CXX_WARNINGS, includes=folders, export_includes=folders,
              defines=['RNIC_VERSION="%s"' % rnic.version,
                       'RNIC_NS3_VERSION="%s"' % bld.env.RNIC_NS3_VERSION],
              use="rnic-c TOML NS3")


def forward(bld, path, text):
    node = bld.bldnode.make_node(path)
    if not node.exists() or node.read() != text:
        node.parent.mkdir()
        node.write(text)


def ns3_programs(bld, rnic):
    for source in rnic.sources("runner"):
        ns3_program(bld, stem(source), [source])
    for source in rnic.sources("example"):
        ns3_program(bld, "examples/" + stem(source), [source])
    for source in rnic.sources("nsrunner"):
        ns3_program(bld, stem(source), [source] + rnic.sources("nstest"), includes="test",
                    **tested(bld))


def ns3_program(bld, target, sources, **more):
    program = bld.program(target=target, name=stem(target), source=sources, use="rnic",
                          cxxflags=CXX_FLAGS + CXX_WARNINGS, **more)
    # Whole archive: a class that only registers its TypeId is named by nobody.
    program.env.STLIB_MARKER = ["-Wl,-Bstatic,--whole-archive"]
    program.env.SHLIB_MARKER = ["-Wl,-Bdynamic,--no-whole-archive"]


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


# ---- inside ns-3 3.35 or earlier ----

def build_module(bld, rnic):
    """ns-3 gives C files none of its flags, -fPIC included, and compiles C++ as C++11 or 14.

    Its modules are C++ to waf, which then reads no attribute cflags: they go into env.
    """
    module = bld.create_ns3_module("rnic", NS3_MODULES)
    kinds = ["binding", "helper"] + (["scenario"] if bld.env.RNIC_TOML else [])
    folders = C_FOLDERS + ["model", "helper", "test"]
    module.source = rnic.c_sources() + rnic.sources(*kinds)
    module.includes = folders
    module.env.append_value("CFLAGS", rnic.c_flags)
    module.cxxflags = ["-std=c++17"]
    module.defines = ['RNIC_VERSION="%s"' % rnic.version, 'RNIC_NS3_VERSION="%s"' % bld.env.VERSION]
    module.use = list(module.use) + ["TOML"]

    headers = bld(features="ns3header")
    headers.module = "rnic"
    headers.source = rnic.listed("header", "contract")

    tests = bld.create_ns3_module_test_library("rnic")
    tests.source = rnic.sources("nstest")
    tests.includes = folders
    tests.cxxflags = ["-std=c++17"]

    if not bld.env.ENABLE_EXAMPLES:
        return
    kinds = ["example", "tool"] + (["runner"] if bld.env.RNIC_TOML else [])
    for source in rnic.sources(*kinds):
        program = bld.create_ns3_program(stem(source), ["rnic"] + NS3_MODULES)
        program.source = rnic.whole(source)
        program.env.append_value("CFLAGS", rnic.c_flags)
        program.includes = [program.includes] + folders
        program.cxxflags = ["-std=c++17"]


def start():
    """Be waf itself: the waflib package brings no script that does it."""
    from waflib import Scripting
    folder = os.path.dirname(os.path.abspath(__file__))
    library = os.path.dirname(os.path.dirname(os.path.abspath(Context.__file__)))
    Scripting.waf_entry_point(folder, Context.WAFVERSION, library)


if __name__ == "__main__":
    sys.exit(start())
