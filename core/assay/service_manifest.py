"""The rules of a task's services and caches: what else is beside the jails, from the suite."""

from __future__ import annotations

from attrs import frozen

from assay.api.jail import Network
from assay.api.tasks import Service
from assay.api.trees import RelPath
from assay.policies import slug_text, task_folder
from assay.structuring import FieldError, checked

__all__ = ["ServiceDocument", "check_caches", "check_services"]

_MOST = 8
_MOST_CACHES = 50
_MOST_SECONDS = 300.0
_MOST_ARGUMENTS = 100
_MOST_CHARACTERS = 4096
_PORTS = (1024, 65535)
_ONE_LINE = f"must be one line of at most {_MOST_CHARACTERS} characters"


@frozen
class ServiceDocument:
    """One service as it stands in a manifest."""

    id: str
    argv: tuple[str, ...]
    port: int
    files: str | None = None
    ready_line: str = ""
    seconds: float = 10.0


def check_services(
    documents: tuple[ServiceDocument, ...], network: Network, taken: tuple[RelPath, ...]
) -> tuple[Service, ...]:
    """Services in the order given; their files must not overlap the folders `taken`."""
    if documents and network is not Network.LOOPBACK:
        raise FieldError("needs the network loopback")
    if len(documents) > _MOST:
        raise FieldError(f"must hold at most {_MOST} services")
    found: list[Service] = []
    for index, document in enumerate(documents):
        service = checked(index, _service, document, taken)
        if any(other.id == service.id for other in found):
            raise FieldError("is the id of an earlier service", (index, "id"))
        if any(other.port == service.port for other in found):
            raise FieldError("is the port of an earlier service", (index, "port"))
        found.append(service)
    return tuple(found)


def _service(document: ServiceDocument, taken: tuple[RelPath, ...]) -> Service:
    if not _PORTS[0] <= document.port <= _PORTS[1]:
        raise FieldError(f"must be between {_PORTS[0]} and {_PORTS[1]}", ("port",))
    if not 0 < document.seconds <= _MOST_SECONDS:
        raise FieldError(f"must be more than 0 and at most {_MOST_SECONDS:.0f}", ("seconds",))
    if not _is_line(document.ready_line):
        raise FieldError(_ONE_LINE, ("ready_line",))
    files = document.files
    return Service(
        id=checked("id", slug_text, document.id),
        argv=checked("argv", _argv, document.argv),
        port=document.port,
        files=None if files is None else checked("files", _folder, files, taken),
        ready_line=document.ready_line,
        seconds=document.seconds,
    )


def _argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    if not 0 < len(argv) <= _MOST_ARGUMENTS or not argv[0]:
        raise FieldError(f"must hold a program and at most {_MOST_ARGUMENTS - 1} arguments")
    for index, argument in enumerate(argv):
        if not _is_line(argument):
            raise FieldError(_ONE_LINE, (index,))
    return argv


def _is_line(text: str) -> bool:
    return len(text) <= _MOST_CHARACTERS and (text.isprintable() or not text)


def _folder(text: str, taken: tuple[RelPath, ...]) -> RelPath:
    path = task_folder(text)
    for other in taken:
        if f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/"):
            raise FieldError("must not overlap the fixture or the hidden files")
    return path


def check_caches(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of caches, sorted."""
    if len(names) > _MOST_CACHES:
        raise FieldError(f"must hold at most {_MOST_CACHES} names")
    for index, name in enumerate(names):
        checked(index, slug_text, name)
        if name in names[:index]:
            raise FieldError("is there twice", (index,))
    return tuple(sorted(names))
