# SPDX-License-Identifier: GPL-2.0-only
"""The guest's kernel and initramfs, made of Debian packages; nothing is installed.

In: apt's package lists, the files beside this one. Out: build/rxe/vmlinuz and build/rxe/initrd.
Steps, each done again only when what it stands on has changed: download the packages and unpack
them (build/rxe/packages), compile the agent against their libraries, write the initramfs.
"""

import contextlib
import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDER = os.path.join(ROOT, "build", "rxe")
PACKAGES = os.path.join(FOLDER, "packages")
KERNEL = os.path.join(FOLDER, "vmlinuz")
INITRD = os.path.join(FOLDER, "initrd")

# The kernel comes besides these. The -dev package only compiles the agent.
WANTED = """busybox-static libc6 libibverbs1 libibverbs-dev ibverbs-providers librdmacm1
    libibumad3 libnl-3-200 libnl-route-3-200 libpci3 libudev1 zlib1g perftest
    ibverbs-utils""".split()
TOOLS = """ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_devinfo ib_write_bw ib_write_lat
    ib_read_bw ib_read_lat ib_send_bw ib_send_lat ib_atomic_bw ib_atomic_lat""".split()
# crc32_generic is asked for by its algorithm's name, so no dependency tells of it.
MODULES = "virtio_pci virtio_net virtio_console crc32_generic ib_uverbs rdma_rxe rdma_ucm".split()
MODULE_FOLDERS = re.compile(
    r"\./lib/modules/[^/]+/kernel/(net|crypto|lib"
    r"|drivers/(infiniband|virtio|net/[^/]+\.ko|char/virtio_[^/]+\.ko))")
LIB = "usr/lib/x86_64-linux-gnu"
AGENT = sorted(glob.glob(os.path.join(HERE, "agent*.c")))
AGENT_FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Wconversion",
               "-Wshadow", "-Werror"]


class Unavailable(Exception):
    """The rig can not be had on this machine (no QEMU, no network): tests are skipped."""


def read(path):
    with open(path, "rb") as file:
        return file.read()


def digest(*parts):
    """Of bytes and strings, in this order."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "big") + data)
    return total.hexdigest()[:16]


@contextlib.contextmanager
def lock():
    """Only one process at a time works in the folder."""
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, "lock"), "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def stamped(path, stamp):
    """Whether path was made from what stamp stands for."""
    try:
        return os.path.exists(path) and read(path + ".stamp").decode() == stamp
    except FileNotFoundError:
        return False


def put_stamp(path, stamp):
    with open(path + ".stamp", "w", encoding="ascii") as file:
        file.write(stamp)


# ---- packages ----

def kernel_package():
    """The package that linux-image-amd64 stands for today."""
    text = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True,
                          text=True, check=False).stdout
    found = re.search(r"Depends: (linux-image-[0-9]\S*)", text)
    if found is None:
        raise Unavailable("apt knows no linux-image-amd64 (apt-get update?)")
    return found.group(1)


def unpack_kernel(package, into):
    """Kernel and modules that may be needed; all of them would be 400 MB."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package],
                          stdout=subprocess.PIPE) as process:
        with tarfile.open(fileobj=process.stdout, mode="r|") as archived:
            for member in archived:
                if member.isfile() and (member.name.startswith("./boot/vmlinuz")
                                        or MODULE_FOLDERS.match(member.name)):
                    path = os.path.join(into, member.name)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "wb") as file:
                        shutil.copyfileobj(archived.extractfile(member), file)
    if process.returncode != 0:
        raise Unavailable(f"{package} can not be unpacked")


def fetch(say):
    """Download the packages and unpack them, once."""
    stamp = digest(*WANTED, MODULE_FOLDERS.pattern)
    if stamped(PACKAGES, stamp):
        return
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise Unavailable("the guest is made of Debian packages, and this is not Debian")
    names = WANTED + [kernel_package()]
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        os.chmod(folder, 0o755)  # apt downloads as a user of its own
        say("downloading the guest's packages")
        result = subprocess.run(
            ["apt-get", "-q", "-o", "Acquire::http::Timeout=20", "download", *names], cwd=folder,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        files = sorted(glob.glob(os.path.join(folder, "*.deb")))
        if result.returncode != 0 or len(files) != len(names):
            raise Unavailable("apt-get download failed (apt-get update?): "
                              + result.stdout.strip().split("\n")[-1])
        say(f"unpacking {sum(os.path.getsize(file) for file in files) / 1e6:.0f} MB")
        fresh = os.path.join(folder, "packages")
        os.mkdir(fresh)
        for file in files:
            if os.path.basename(file).startswith("linux-image"):
                unpack_kernel(file, fresh)
            else:
                subprocess.run(["dpkg-deb", "-x", file, fresh], check=True)
        shutil.rmtree(PACKAGES, ignore_errors=True)
        os.rename(fresh, PACKAGES)
    put_stamp(PACKAGES, stamp)


# ---- what goes into the initramfs ----

def modules():
    """Paths of the modules, each after those it needs."""
    paths = {os.path.basename(path)[:-len(".ko")].replace("-", "_"): path for path in
             glob.glob(os.path.join(PACKAGES, "lib/modules/*/kernel/**/*.ko"), recursive=True)}
    order = []

    def add(name):
        if name in paths and paths[name] not in order:  # one that is not there is built in
            found = re.search(rb"\0depends=([^\0]*)\0", read(paths[name]))
            for other in found.group(1).decode().split(",") if found else []:
                add(other.replace("-", "_"))
            order.append(paths[name])

    for name in MODULES:
        add(name)
    if not any(path.endswith("/rdma_rxe.ko") for path in order):
        raise Unavailable("the kernel's package has no rdma_rxe.ko")
    return order


def find(name, *folders):
    for folder in folders:
        path = os.path.join(PACKAGES, folder, name)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"no {name} in the guest's packages")


def with_libraries(programs):
    """{path in the guest: file} of the libraries that the programs load."""
    found, todo = {}, list(programs)
    while todo:
        text = subprocess.run(["readelf", "-d", todo.pop()], capture_output=True, text=True,
                              check=True).stdout
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
            if f"{LIB}/{name}" not in found:
                path = find(name, LIB, "lib/x86_64-linux-gnu")
                found[f"{LIB}/{name}"] = path
                todo.append(path)
    return found


def compile_agent():
    """@return path of the program."""
    program = os.path.join(FOLDER, "agent")
    libraries = [os.path.join(PACKAGES, folder) for folder in (LIB, "lib/x86_64-linux-gnu")]
    subprocess.run(["gcc", *AGENT_FLAGS, f"-isystem{PACKAGES}/usr/include", "-o", program, *AGENT,
                    f"-L{libraries[0]}", "-libverbs",
                    *(f"-Wl,-rpath-link,{folder}" for folder in libraries)], check=True)
    return program


def archive_entry(number, name, mode, data=b""):
    """One file of a cpio archive (format newc)."""
    path = name.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + path
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def archive(files, links):
    """cpio of {path: bytes}, all of them executable, and of symbolic links {path: target}."""
    folders = {os.path.dirname(path) for path in [*files, *links]} | {"dev", "proc", "sys", "tmp"}
    for path in list(folders):
        while path := os.path.dirname(path):
            folders.add(path)
    entries = [(path, 0o40755, b"") for path in sorted(folders - {""})]
    entries += [(path, 0o120777, target.encode()) for path, target in sorted(links.items())]
    entries += [(path, 0o100755, data) for path, data in sorted(files.items())]
    entries.append(("TRAILER!!!", 0, b""))
    return b"".join(archive_entry(number, *entry) for number, entry in enumerate(entries, 1))


def assemble(say):
    """Make initramfs and kernel from the packages. @return what stands for their content"""
    stamp = digest(read(PACKAGES + ".stamp"), *(read(path) for path in sorted(
        glob.glob(os.path.join(HERE, "agent*")) + [os.path.join(HERE, "init"), __file__])))
    if stamped(INITRD, stamp):
        return stamp
    say("assembling the guest")
    programs = {f"usr/bin/{name}": find(name, "usr/bin") for name in TOOLS}
    programs["usr/bin/agent"] = compile_agent()
    provider = glob.glob(os.path.join(PACKAGES, LIB, "libibverbs", "librxe-rdmav*.so"))[0]
    programs[f"{LIB}/libibverbs/{os.path.basename(provider)}"] = provider
    libraries = with_libraries(programs.values())
    files = {path: read(file) for path, file in {**programs, **libraries}.items()}
    files["init"] = read(os.path.join(HERE, "init"))
    files["bin/busybox"] = read(find("busybox", "bin", "usr/bin"))
    files["etc/libibverbs.d/rxe.driver"] = b"driver rxe\n"
    order = modules()
    files.update({f"modules/{os.path.basename(path)}": read(path) for path in order})
    files["modules/order"] = "".join(os.path.basename(path) + "\n" for path in order).encode()
    loader = "ld-linux-x86-64.so.2"
    links = {f"lib64/{loader}": f"../{LIB}/{loader}", "lib": "usr/lib", "bin/sh": "busybox"}
    with open(INITRD, "wb") as file:
        file.write(archive(files, links))
    shutil.copyfile(glob.glob(os.path.join(PACKAGES, "boot", "vmlinuz-*"))[0], KERNEL)
    put_stamp(INITRD, stamp)
    return stamp


def prepare(say):
    """Whatever is missing of kernel and initramfs; the caller holds the lock.

    @return a text that changes when the guest does. Raises Unavailable.
    """
    fetch(say)
    return assemble(say)
