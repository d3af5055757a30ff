"""System calls that jailed code may make, as data, one policy per architecture.

The standard policy is an allow-list: whatever is not named gets ENOSYS, on which C libraries
fall back. A call with an argument rule is allowed when the rule holds; a call that fails its
rule gets ENOSYS too, except `socket`, which says that the address family is not supported.
Calls whose dangerous arguments lie behind a pointer (`clone3`, `openat2`) can't be filtered and
are left out.

The policy `compat`, for programs that need a rare call, is a deny-list: the same rules, and
everything that is known to be dangerous refused; what nobody thought of is open.

The policy `unfiltered` refuses nothing. It is for finding out whether a filter is to blame, and for
the jail that is weak on purpose; verdicts under it say so.
"""

from __future__ import annotations

import hashlib
import platform
from enum import Enum

from attrs import frozen

from assay.api import SandboxUnavailable

__all__ = ["Policy", "PolicyKind", "policy_for", "policy_of_this_host"]

ENOSYS = 38
EAFNOSUPPORT = 97

_SETUID_OR_SETGID = 0o6000
_CREATES = 0o100
_TMPFILE = 0o20000000
_NO_SETUID = f"(mode & {_SETUID_OR_SETGID}) == 0"
_NO_SETUID_WHEN_CREATED = (
    f"{_NO_SETUID} || ((flags & {_CREATES}) == 0 && (flags & {_TMPFILE}) == 0)"
)
_NO_DEVICE = "(mode & 0xF000) != 0x2000 && (mode & 0xF000) != 0x6000 && " + _NO_SETUID
# Every CLONE_NEW* flag, CLONE_NEWTIME excepted: its bit is part of the exit signal here.
_NAMESPACES = 0x7E020000
# The init has the jail's uid: nobody may move its limits or priorities.
_NOT_THE_INIT = "pid != 1"
_NOT_THE_INIT_NOR_ALL = "which != {all} && who != 1"

ARGUMENT_RULES: dict[str, str] = {
    "chmod": _NO_SETUID,
    "clone": f"(clone_flags & {_NAMESPACES}) == 0",
    "creat": _NO_SETUID,
    "fchmod": _NO_SETUID,
    "fchmodat": _NO_SETUID,
    "fchmodat2": _NO_SETUID,
    # TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCSCTTY: typing into or taking a terminal.
    "ioctl": " && ".join(f"cmd != {cmd}" for cmd in (0x5412, 0x541C, 0x5423, 0x541D, 0x540E)),
    "ioprio_set": _NOT_THE_INIT_NOR_ALL.format(all=3),
    "mkdir": _NO_SETUID,
    "mkdirat": _NO_SETUID,
    "mknod": _NO_DEVICE,
    "mknodat": _NO_DEVICE,
    "open": _NO_SETUID_WHEN_CREATED,
    "openat": _NO_SETUID_WHEN_CREATED,
    "personality": "personality == 0 || personality == 0xFFFFFFFF || personality == 0x40000",
    # PR_SET_PDEATHSIG would outlive the supervisor; PR_SET_MM; PR_SET_PTRACER.
    "prctl": "option != 1 && option != 35 && option != 0x59616D61",
    "prlimit64": _NOT_THE_INIT,
    "sched_setaffinity": _NOT_THE_INIT,
    "sched_setattr": _NOT_THE_INIT,
    "sched_setparam": _NOT_THE_INIT,
    "sched_setscheduler": _NOT_THE_INIT,
    "setpriority": _NOT_THE_INIT_NOR_ALL.format(all=2),
    # Unix sockets; TCP and UDP over either version of IP.
    "socket": "family == 1 || ((family == 2 || family == 10)"
    " && (protocol == 0 || protocol == 6 || protocol == 17))",
}

GROUPS: dict[str, str] = {
    "content": "read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 lseek"
    " truncate ftruncate fallocate fadvise64 readahead copy_file_range sendfile64 splice tee"
    " vmsplice fsync fdatasync msync sync sync_file_range syncfs cachestat",
    "descriptors": "close close_range dup dup2 dup3 fcntl flock pipe pipe2 eventfd eventfd2"
    " poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait"
    " epoll_pwait2 signalfd signalfd4"
    " timerfd_create timerfd_settime timerfd_gettime",
    "names": "newstat newfstat newlstat newfstatat statx statfs fstatfs access faccessat"
    " faccessat2 readlink readlinkat getcwd chdir fchdir getdents getdents64 rename renameat"
    " renameat2 link linkat symlink symlinkat unlink unlinkat rmdir umask chown fchown lchown"
    " fchownat utime utimes utimensat futimesat getxattr lgetxattr fgetxattr listxattr"
    " llistxattr flistxattr setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr",
    "memory": "mmap munmap mprotect mremap madvise mincore brk mlock mlock2 munlock mlockall"
    " munlockall membarrier pkey_alloc pkey_free pkey_mprotect mseal get_mempolicy",
    "processes": "fork vfork execve execveat exit exit_group wait4 waitid getpid getppid gettid"
    " getpgid getpgrp getsid setsid setpgid pidfd_open set_tid_address set_robust_list"
    " get_robust_list rseq futex futex_waitv arch_prctl seccomp",
    "signals": "kill tkill tgkill pause rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending"
    " rt_sigsuspend rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo sigaltstack"
    " restart_syscall pidfd_send_signal",
    "identity": "getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid"
    " setreuid setregid setresuid setresgid setgroups setfsuid setfsgid capget",
    "scheduling": "sched_yield sched_getaffinity sched_getparam sched_getscheduler"
    " sched_getattr sched_get_priority_max sched_get_priority_min sched_rr_get_interval"
    " getpriority ioprio_get getrlimit setrlimit getrusage times sysinfo newuname getcpu",
    "time": "time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep alarm"
    " getitimer setitimer timer_create timer_settime timer_gettime timer_getoverrun"
    " timer_delete getrandom",
    "sockets": "socketpair bind listen accept accept4 connect getsockname getpeername setsockopt"
    " getsockopt shutdown sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg",
    "exchange": "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
}

DENIED: dict[str, str] = {
    "not filterable": "clone3 openat2 io_uring_setup io_uring_enter io_uring_register",
    "memory that no limit sees": "memfd_create memfd_secret shmget shmat map_shadow_stack msgget"
    " semget",
    # Instances of inotify count against whoever made the namespace, which may be the host's root.
    "numbers that the whole host shares": "io_setup inotify_init inotify_init1",
    "other processes": "ptrace process_vm_readv process_vm_writev process_madvise"
    " process_mrelease pidfd_getfd kcmp migrate_pages move_pages mbind set_mempolicy"
    " set_mempolicy_home_node",
    "namespaces and mounts": "unshare setns mount umount pivot_root chroot move_mount open_tree"
    " open_tree_attr fsopen fsconfig fsmount fspick mount_setattr statmount listmount"
    " open_by_handle_at name_to_handle_at quotactl quotactl_fd swapon swapoff",
    "the kernel itself": "bpf perf_event_open userfaultfd kexec_load kexec_file_load init_module"
    " finit_module delete_module reboot syslog acct iopl ioperm modify_ldt lookup_dcookie"
    " remap_file_pages nfsservctl vhangup add_key request_key keyctl fanotify_init fanotify_mark",
    "security modules": "landlock_create_ruleset landlock_add_rule landlock_restrict_self"
    " lsm_get_self_attr lsm_set_self_attr lsm_list_modules",
    "the host's names and clocks": "settimeofday clock_settime adjtimex clock_adjtime"
    " sethostname setdomainname",
}

TESTED_ARCHITECTURES = ("x86_64",)


class PolicyKind(Enum):
    """Which policy: the allow-list, the wider deny-list, or none at all."""

    STANDARD = "standard"
    COMPAT = "compat"
    UNFILTERED = "unfiltered"


@frozen
class Policy:
    """A policy as nsjail reads it, with the digest that enters the identity."""

    architecture: str
    text: str
    digest: str


def policy_for(architecture: str, kind: PolicyKind = PolicyKind.STANDARD) -> Policy:
    """The policy of one architecture; SandboxUnavailable where none was tested."""
    if architecture not in TESTED_ARCHITECTURES:
        raise SandboxUnavailable(
            "seccomp policy", f"run on one of: {', '.join(TESTED_ARCHITECTURES)}"
        )
    ruled = [f"{name} {{ {rule} }}" for name, rule in ARGUMENT_RULES.items()]
    if kind is PolicyKind.UNFILTERED:
        text = "POLICY assay { } USE assay DEFAULT ALLOW"
    else:
        text = _deny_list(ruled) if kind is PolicyKind.COMPAT else _allow_list(ruled)
    return Policy(architecture, text, "sha256:" + hashlib.sha256(text.encode()).hexdigest())


def policy_of_this_host(kind: PolicyKind = PolicyKind.STANDARD) -> Policy:
    """The policy of the machine that this process runs on."""
    return policy_for(platform.machine(), kind)


def _allow_list(ruled: list[str]) -> str:
    plain = [name for group in GROUPS.values() for name in group.split()]
    return (
        f"POLICY assay {{ ALLOW {{ {', '.join(ruled + plain)} }},"
        f" ERRNO({EAFNOSUPPORT}) {{ socket }} }}"
        f" USE assay DEFAULT ERRNO({ENOSYS})"
    )


def _deny_list(ruled: list[str]) -> str:
    denied = [name for group in DENIED.values() for name in group.split()]
    broken = [name for name in ARGUMENT_RULES if name != "socket"]
    return (
        f"POLICY assay {{ ALLOW {{ {', '.join(ruled)} }},"
        f" ERRNO({EAFNOSUPPORT}) {{ socket }},"
        f" ERRNO({ENOSYS}) {{ {', '.join(broken + denied)} }} }}"
        " USE assay DEFAULT ALLOW"
    )
