"""What jailed code can't reach, each attack by its name."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import attrs
import pytest
from support.jail import python, session, shell, spec, workspace
from support.jail import sandbox as the_sandbox

from assay.api import Mount, MountKind, Network, Profile, SandboxFailed
from assay_sandbox.inits import InitKind
from assay_sandbox.layout import layout_of
from assay_sandbox.opening import open_session
from assay_sandbox.sandbox import (
    MOUNT_INTERFACES,
    CompatSandbox,
    NsjailSandbox,
    UnfilteredSandbox,
    _measured,
)


def answer(source: str, **changes: object) -> str:
    """What a piece of Python prints inside a fresh jail; its own failures are failures."""
    with session(**changes) as jail:
        outcome = jail.run(python(source))
    assert outcome.exit_code == 0, outcome.stderr.text()
    return outcome.stdout.text().strip()


def errno_of(expression: str, **changes: object) -> str:
    """The name of the error that an expression meets inside, or OPEN."""
    return answer(
        "import ctypes, errno, os, socket, resource, signal, stat, sys\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def call(*arguments):\n"
        "    if libc.syscall(*arguments) < 0:\n"
        "        raise OSError(ctypes.get_errno(), '')\n"
        "try:\n"
        f"    {expression}\n"
        "    print('OPEN')\n"
        "except OSError as error:\n"
        "    print(errno.errorcode[error.errno])\n",
        **changes,
    )


@pytest.mark.threat("read the caller's environment", layer="supervisor, pid namespace")
def test_the_callers_environment_does_not_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CANARY", "s3cr3t")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    seen = answer(
        "import os\n"
        "print(sorted(os.environ))\n"
        "print(open('/proc/self/environ').read())\n"
        "for pid in os.listdir('/proc'):\n"
        "    if pid.isdigit(): print(open(f'/proc/{pid}/environ').read())\n"
    )
    assert "CANARY" not in seen
    assert "s3cr3t" not in seen
    assert "Tokyo" not in seen
    names = (
        "GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM HOME LANG LC_ALL PATH PYTHONDONTWRITEBYTECODE "
        "PYTHONHASHSEED PYTHONNOUSERSITE PYTHONPYCACHEPREFIX TMPDIR TZ "
        "XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME"
    )
    assert seen.splitlines()[0] == str(names.split())


@pytest.mark.parametrize("zone", ["Asia/Tokyo", None])
def test_time_is_utc(zone: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if zone is None:
        monkeypatch.delenv("TZ", raising=False)
    else:
        monkeypatch.setenv("TZ", zone)
    assert answer("import time; print(time.strftime('%H', time.localtime(0)))") == "00"


@pytest.mark.threat("use what the init has", layer="init, pid namespace")
def test_the_init_can_not_be_opened_or_seen() -> None:
    seen = answer(
        "import os\n"
        "print('1' in os.listdir('/proc'))\n"
        "for place in ('/proc/1/fd', '/proc/1/environ', '/proc/1/mem', '/proc/1/root'):\n"
        "    try:\n"
        "        os.open(place, os.O_RDONLY); print('OPEN', place)\n"
        "    except OSError: pass\n"
        "for number in range(64):\n"
        "    try:\n"
        "        os.open(f'/proc/1/fd/{number}', os.O_WRONLY); print('OPEN', number)\n"
        "    except OSError: pass\n"
    )
    assert seen == "False"


@pytest.mark.threat("forge its own outcome through descriptors", layer="init")
def test_a_record_can_not_be_forged_through_inherited_descriptors() -> None:
    source = (
        "import os, socket, sys\n"
        "record = b'done 1 exited 0 0.000000 0.000000 1'\n"
        "for number in range(3, 4096):\n"
        "    try: os.write(number, record); print('WRITTEN', number)\n"
        "    except OSError: pass\n"
        "print(sorted(os.listdir('/proc/self/fd')))\n"
        "sys.stdout.flush()\n"
        "os._exit(9)\n"
    )
    with session() as jail:
        outcome = jail.run(python(source))
    assert outcome.exit_code == 9
    assert outcome.stdout.text() == "['0', '1', '2', '3']\n"


ATTACKS = [
    ("call(157, 1, 9, 0, 0, 0)", "ENOSYS"),  # prctl PR_SET_PDEATHSIG
    ("call(157, 35, 1, 0, 0, 0)", "ENOSYS"),  # prctl PR_SET_MM
    ("call(302, 1, 0, 0, 0)", "ENOSYS"),  # prlimit64 on the init
    ("call(141, 0, 1, 19)", "ENOSYS"),  # setpriority of the init
    ("call(144, 1, 5, 0)", "ENOSYS"),  # sched_setscheduler of the init
    ("call(272, 0x10000000)", "ENOSYS"),  # unshare a user namespace
    ("call(56, 0x10000011, 0, 0, 0, 0)", "ENOSYS"),  # clone into a user namespace
    ("call(435, 0, 0)", "ENOSYS"),  # clone3
    ("call(165, b'none', b'/tmp', b'tmpfs', 0, 0)", "ENOSYS"),  # mount
    ("call(101, 16, 1, 0, 0)", "ENOSYS"),  # ptrace the init
    ("call(310, 1, 0, 0, 0, 0, 0)", "ENOSYS"),  # process_vm_readv
    ("call(438, 0, 0, 0)", "ENOSYS"),  # pidfd_getfd
    ("call(319, b'x', 0)", "ENOSYS"),  # memfd_create
    ("call(29, 0, 4096, 0o1600)", "ENOSYS"),  # shmget
    ("call(425, 1, 0)", "ENOSYS"),  # io_uring_setup
    ("call(321, 0, 0, 0)", "ENOSYS"),  # bpf
    ("call(253)", "ENOSYS"),  # inotify_init, whose instances count against the host's root
    ("call(294, 0)", "ENOSYS"),  # inotify_init1
    ("call(323, 0)", "ENOSYS"),  # userfaultfd
    ("call(16, 0, 0x5412, b'x')", "ENOSYS"),  # ioctl TIOCSTI
    ("call(16, 0, ctypes.c_ulong(0x100005412), b'x')", "ENOSYS"),  # the same, 64 bits wide
    ("os.chmod(sys.executable, 0o4755)", "ENOSYS"),
    ("os.open('/tmp/suid', os.O_CREAT | os.O_WRONLY, 0o4755)", "ENOSYS"),
    ("os.mkdir('/tmp/sgid', 0o2755)", "ENOSYS"),
    ("os.mknod('/tmp/device', 0o600 | stat.S_IFCHR, os.makedev(1, 3))", "ENOSYS"),
    ("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)", "EAFNOSUPPORT"),
    ("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)", "EAFNOSUPPORT"),
    ("open('/proc/self/oom_score_adj', 'w')", "EROFS"),
    ("open('/usr/bin/assay-was-here', 'w')", "EROFS"),
    ("open('/runtime/python/was-here', 'w')", "EROFS"),
    ("open('/was-here', 'w')", "EROFS"),
    ("open('/etc/passwd', 'a')", "EROFS"),
    ("os.listdir('/root')", "ENOENT"),
    ("os.listdir('/home')", "ENOENT"),
    ("os.listdir('/sys')", "ENOENT"),
    ("open('/etc/shadow')", "ENOENT"),
    ("open('/dev/tty')", "ENOENT"),
    ("os.setuid(0)", "EINVAL"),
]
BOXES = (NsjailSandbox, CompatSandbox)


@pytest.mark.parametrize(("attack", "answer"), ATTACKS)
@pytest.mark.threat(
    "attack the kernel, the init or the system by single calls",
    layer="seccomp, mount namespace, read-only mounts",
)
def test_attacks_on_the_kernel_the_init_and_the_system(attack: str, answer: str) -> None:
    if os.uname().machine != "x86_64" and "call(" in attack:
        pytest.skip("numbers of system calls are those of x86_64")
    assert errno_of(attack) == answer


@pytest.mark.threat("the same under the compat policy", layer="seccomp")
def test_the_compat_policy_refuses_what_is_known_to_be_dangerous_and_no_more() -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("numbers of system calls are those of x86_64")
    refused = [attack for attack, result in ATTACKS if result in ("ENOSYS", "EAFNOSUPPORT")]
    rare = "call(139, 3)"  # sysfs: it only tells how many kinds of file system there are
    source = (
        "import ctypes, errno, os, socket, stat, sys\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def call(*arguments):\n"
        "    if libc.syscall(*arguments) < 0:\n"
        "        raise OSError(ctypes.get_errno(), '')\n"
        f"for attack in {[*refused, rare]!r}:\n"
        "    try:\n"
        "        exec(attack)\n"
        "        print('OPEN')\n"
        "    except OSError as error:\n"
        "        print(errno.errorcode[error.errno])\n"
    )
    answers = {}
    for box in (NsjailSandbox(), CompatSandbox()):
        with box.open(spec()) as jail:
            outcome = jail.run(python(source))
        assert outcome.exit_code == 0, outcome.stderr.text()
        answers[box.name] = outcome.stdout.text().split()
    assert answers["nsjail"][:-1] == answers["nsjail-compat"][:-1]
    assert (answers["nsjail"][-1], answers["nsjail-compat"][-1]) == ("ENOSYS", "OPEN")
    assert NsjailSandbox().capabilities().layers["seccomp"] == "present: allow-list"
    assert CompatSandbox().capabilities().layers["seccomp"] == "degraded: deny-list"
    assert len({box().capabilities().versions["policy"] for box in BOXES}) == len(BOXES)


@pytest.mark.threat("leave a jail without a filter", layer="mount namespace, read-only mounts")
def test_the_diagnostic_sandbox_lets_calls_through_and_says_so() -> None:
    """It must be asked for by name; the walls that are no filter stand."""
    box = UnfilteredSandbox()
    capabilities = box.capabilities()
    assert capabilities.layers["seccomp"] == "absent: every system call is let through"
    assert capabilities.diagnostic == "system calls are not filtered"
    assert {one().capabilities().diagnostic for one in BOXES} == {""}
    source = (
        "import os, sys\n"
        "os.close(os.memfd_create('let-through'))\n"
        "for path in ('/root', '/home', '/sys'):\n"
        "    if os.path.exists(path): sys.exit(1)\n"
        "try: open('/usr/bin/assay-was-here', 'w')\n"
        "except OSError: sys.exit(0)\n"
        "sys.exit(2)\n"
    )
    with box.open(spec()) as jail:
        assert jail.run(python(source)).exit_code == 0


@pytest.mark.parametrize("interface", MOUNT_INTERFACES)
def test_a_jail_starts_with_either_way_to_mount(interface: str) -> None:
    _, plan = _measured(NsjailSandbox.policy, InitKind.COMPILED)
    assert plan is not None
    plan = attrs.evolve(plan, mount_interface=interface)
    with open_session(plan, spec(), layout_of(spec(), plan.init)) as jail:
        outcome = jail.run(shell("echo x > /usr/bin/x; echo x > /runtime/x; echo up"))
    assert outcome.stdout.text() == "up\n"
    assert outcome.stderr.text().count("Read-only") == 2


@pytest.mark.threat("stop the init", layer="init, pid namespace")
def test_the_init_survives_every_signal() -> None:
    source = (
        "import os\n"
        "for number in range(1, 65):\n"
        "    try: os.kill(1, number)\n"
        "    except OSError: pass\n"
        "try: os.kill(-1, 0)\n"
        "except OSError: pass\n"
        "print('sent')\n"
    )
    with session() as jail:
        assert jail.run(python(source)).stdout.head == b"sent\n"
        assert jail.run(shell("echo alive")).stdout.head == b"alive\n"


@pytest.mark.threat("gain privileges", layer="user namespace")
def test_no_capability_and_no_new_privileges() -> None:
    status = answer("print(open('/proc/self/status').read())")
    lines = dict(line.split(":", 1) for line in status.splitlines())
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(lines[name], 16) == 0
    assert lines["NoNewPrivs"].strip() == "1"
    assert lines["Uid"].split() == ["1000"] * 4


@pytest.mark.threat("reach the network", layer="network namespace")
def test_no_network_but_its_own_loopback() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        dial = f"socket.create_connection(('127.0.0.1', {port}), 5)"
        assert errno_of(dial) in ("ENETUNREACH", "EADDRNOTAVAIL")
        assert errno_of(dial, network=Network.LOOPBACK) == "ECONNREFUSED"
    assert errno_of("socket.create_connection(('192.0.2.1', 80), 5)") == "ENETUNREACH"
    source = (
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(server.getsockname(), 5)\n"
        "print('connected')\n"
    )
    assert answer(source, network=Network.LOOPBACK) == "connected"


@pytest.mark.threat("talk to services of the host by name", layer="network namespace")
def test_a_socket_of_the_hosts_abstract_space_is_out_of_reach() -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0assay-test-{os.getpid()}")
        server.listen()
        name = f"'\\0assay-test-{os.getpid()}'"
        assert errno_of(f"socket.socket(socket.AF_UNIX).connect({name})") == "ECONNREFUSED"


@pytest.mark.threat("use up memory through files", layer="tmpfs size")
def test_tmp_persists_between_commands_and_is_bounded() -> None:
    with session() as jail:
        jail.run(shell("echo kept > /tmp/file; mkdir -p $HOME/.config"))
        assert jail.run(shell("cat /tmp/file; ls -a $HOME")).stdout.head.startswith(b"kept\n")
        full = jail.run(shell("dd if=/dev/zero of=/tmp/a bs=1M count=60 && cat /tmp/a > /tmp/b"))
        assert b"No space left" in full.stderr.head
    with session() as jail:
        assert jail.run(shell("ls /tmp")).stdout.head == b"home\n"


@pytest.mark.threat("write outside the workspace", layer="read-only mounts")
def test_a_writable_workspace_is_written_and_nothing_else(tmp_path: Path) -> None:
    with workspace(lambda root: (root / "old").write_text("old")) as mount:
        with session(profile=Profile.AGENT, mounts=(mount,), cwd="/workspace") as jail:
            outcome = jail.run(shell("cat old && echo new > new && pwd"))
        assert outcome.stdout.head == b"old/workspace\n"
        assert (Path(mount.source) / "new").read_text() == "new\n"


@pytest.mark.threat("change what is graded", layer="read-only mounts")
def test_a_read_only_tree_is_read_only() -> None:
    with workspace(lambda root: (root / "test").write_text("test")) as mount:
        frozen = Mount("/workspace", MountKind.TREE, source=mount.source)
        for attack in (
            "open('/workspace/test', 'w')",
            "os.unlink('/workspace/test')",
            "os.chmod('/workspace/test', 0o777)",
            "os.utime('/workspace/test')",
            "open('/workspace/new', 'w')",
            "os.rename('/workspace/test', '/workspace/moved')",
            "os.link('/workspace/test', '/workspace/linked')",
        ):
            assert errno_of(attack, mounts=(frozen,)) == "EROFS"
        assert (Path(mount.source) / "test").read_text() == "test"


def test_file_contents_are_mounted_exactly() -> None:
    content = bytes(range(256)) * 64 + b'"\\\n'
    mount = Mount("/hidden/data", MountKind.FILE, content=content)
    with session(mounts=(mount,)) as jail:
        outcome = jail.run(shell("sha256sum < /hidden/data; echo x > /hidden/data"))
    import hashlib

    assert outcome.stdout.text().split()[0] == hashlib.sha256(content).hexdigest()
    assert b"Read-only" in outcome.stderr.head


@pytest.mark.parametrize(
    "mount",
    [
        Mount("relative", MountKind.TMPFS, size=4096),
        Mount("/", MountKind.TMPFS, size=4096),
        Mount("/a/../b", MountKind.TMPFS, size=4096),
        Mount("/usr/lib", MountKind.TMPFS, size=4096),
        Mount("/proc/x", MountKind.TMPFS, size=4096),
        Mount("/.assay/init.py", MountKind.FILE, content=b"x"),
        Mount("/runtime/python", MountKind.TMPFS, size=4096),
        Mount("/runtime", MountKind.TMPFS, size=4096),
        Mount("/tmp", MountKind.TMPFS, size=4096),
        Mount("/a\nb", MountKind.TMPFS, size=4096),
        Mount("/a", MountKind.TMPFS),
        Mount("/a", MountKind.TREE, source="/no-such-folder"),
        Mount("/a", MountKind.TREE, source="usr"),
        Mount("/a", MountKind.TREE, source="/etc/passwd"),
        Mount("/a", MountKind.FILE, source="/etc"),
        Mount("/a", MountKind.TREE, source="/usr/bin", writable=True),
        Mount("/a", MountKind.FILE, content=b"", writable=False),
        Mount("/a", MountKind.FILE, content=b"x", writable=True),
    ],
)
@pytest.mark.threat("cover the jail's own places by a mount", layer="supervisor")
def test_mounts_that_break_a_rule_are_refused(mount: Mount) -> None:
    with pytest.raises(SandboxFailed):
        the_sandbox().open(spec(mounts=(mount,)))


@pytest.mark.threat("show other mounts of the host through a source", layer="supervisor")
def test_sources_with_links_or_other_mounts_are_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/usr")
    for source in (str(link), "/"):
        with pytest.raises(SandboxFailed):
            the_sandbox().open(spec(mounts=(Mount("/a", MountKind.TREE, source=source),)))


ODD_NAMES = (
    "a:b,c",
    'quo"te',
    "back\\slash",
    "it's {x} #y",
    "é\u2028ü",
    "-flag",
    " lead",
    "n" * 255,
)


@pytest.mark.threat("add to the jail's configuration by names of folders", layer="supervisor")
def test_any_name_of_a_source_is_mounted_as_it_is_or_refused() -> None:
    with workspace() as place:
        mounts = []
        for number, name in enumerate(ODD_NAMES):
            folder = Path(place.source, name)
            folder.mkdir(mode=0o755)
            (folder / "which").write_text(str(number))
            mounts.append(Mount(f"/odd/{number}", MountKind.TREE, source=str(folder)))
        everything = " ".join(f"/odd/{number}/which" for number in range(len(ODD_NAMES)))
        with session(mounts=tuple(mounts)) as jail:
            outcome = jail.run(shell(f"cat {everything}"))
        assert outcome.stdout.text() == "".join(map(str, range(len(ODD_NAMES))))
        for bad in ("new\nline", "escape\x1b", "tab\t", "\udcff", "n" * 4096):
            mount = Mount("/odd", MountKind.TREE, source=f"{place.source}/{bad}")
            with pytest.raises(SandboxFailed):
                the_sandbox().open(spec(mounts=(mount,)))


@pytest.mark.threat("have the host make files outside", layer="supervisor")
def test_nothing_is_mounted_inside_another_tree() -> None:
    with workspace() as mount:
        (Path(mount.source) / "sub").symlink_to("/tmp")
        inner = Mount("/workspace/sub/tests", MountKind.FILE, content=b"x")
        for mounts in ((mount, inner), (inner, mount), (mount, mount)):
            with pytest.raises(SandboxFailed):
                the_sandbox().open(spec(profile=Profile.AGENT, mounts=mounts))
    assert not Path("/tmp/tests").exists()


@pytest.mark.threat("learn names of the host's folders", layer="store")
def test_names_of_the_host_do_not_show_but_for_stored_trees() -> None:
    seen = answer("print(open('/proc/self/mountinfo').read())")
    assert str(Path(__file__).parents[2]) not in seen
    assert "hidden" not in seen
