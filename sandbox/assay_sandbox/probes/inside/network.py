"""Attacks through the network and through rare kinds of sockets."""

import socket

from .report import Facts, Report, name_of

SECONDS = 0.3
ORDINARY = (0, 1, 2, 10)
SCTP, MPTCP, ICMP = 132, 262, 1


def reach_network(report: Report, facts: Facts) -> None:
    """The host's own ports, the addresses of metadata services, and an address for examples."""
    for label, address, port in (
        ("a port of the host", "127.0.0.1", facts["port"]),
        ("it over IPv6", "::1", facts["port"]),
        ("it mapped into IPv6", "::ffff:127.0.0.1", facts["port"]),
        ("it at any address", "0.0.0.0", facts["port"]),
        ("a metadata service", "169.254.169.254", 80),
        ("another host", "192.0.2.1", 80),
        ("another host over IPv6", "2001:db8::1", 80),
    ):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        connect(report, label, family, (address, port))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        datagram = facts["token"].encode()
        report.attempt("a datagram", end.sendto, datagram, ("127.0.0.1", facts["udp"]))
    try:
        names = {name for _, name in socket.if_nameindex()} - {"lo"}
    except OSError as error:
        report.refused("other interfaces", name_of(error))
    else:
        if names:
            report.open("other interfaces", sorted(names))
        else:
            report.refused("other interfaces", "network namespace")


def connect(report: Report, label: str, family: int, address: "tuple[str, int]") -> None:
    """Dial; a silent address was not reached."""
    try:
        end = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        report.refused(label, name_of(error))
        return
    with end:
        end.settimeout(SECONDS)
        try:
            end.connect(address)
        except TimeoutError:
            report.refused(label, "ETIMEDOUT")
        except OSError as error:
            report.refused(label, name_of(error))
        else:
            report.open(label)


def loopback(report: Report, facts: Facts) -> None:
    """With a loopback of its own: the host's ports are not on it."""
    connect(report, "a port of the host", socket.AF_INET, ("127.0.0.1", facts["port"]))
    connect(report, "it over IPv6", socket.AF_INET6, ("::1", facts["port"]))
    connect(report, "another host", socket.AF_INET, ("192.0.2.1", 80))


def odd_sockets(report: Report, facts: Facts) -> None:
    """Address families, protocols and kinds that bring rarely tested code of the kernel."""
    opened, met = [], set()
    for family in range(46):
        if family in ORDINARY:
            continue
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            try:
                socket.socket(family, kind).close()
            except OSError as error:
                met.add(name_of(error))
            else:
                opened.append(family)
    if opened:
        report.open("address families", sorted(set(opened)))
    for name in sorted(met):
        report.refused("address families", name)
    for label, kind, protocol in (
        ("raw packets", socket.SOCK_RAW, ICMP),
        ("pings", socket.SOCK_DGRAM, ICMP),
        ("SCTP", socket.SOCK_STREAM, SCTP),
        ("several paths", socket.SOCK_STREAM, MPTCP),
    ):
        report.attempt(
            label,
            socket.socket,
            socket.AF_INET,
            kind,
            protocol,
        )
