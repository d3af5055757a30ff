"""Several of this package's modules as one file that the runtime's interpreter can start.

Compiled on the host: a jail mounts one file and compiles nothing. The interpreter in the jail
is of the same version as this one, or the program does not start at all.
"""

from __future__ import annotations

import functools
import importlib.util
import marshal
from importlib.resources import files

from assay.api import Mount, MountKind

__all__ = ["program_bundle"]

_ALIAS = "_assay"
"""Name of the package in the jail, so that no candidate's module is mistaken for one of it."""
_LOADER = """
import _frozen_importlib, marshal, sys
class Loader:
    def find_spec(self, name, path=None, target=None):
        if name in CODES:
            return _frozen_importlib.ModuleSpec(name, self, is_package=name in PACKAGES)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        module.__tracebackhide__ = True
        exec(marshal.loads(CODES[module.__name__]), module.__dict__)
sys.meta_path.insert(0, Loader())
from {alias}.{package}.{main} import main
main()
"""


@functools.cache
def program_bundle(main: str, package: str = "isolation", *more: str) -> Mount:
    """`PACKAGE.MAIN` with all that it may import, as /assay/MAIN.pyc.

    That is the package itself, `wire`, and the packages `more`.
    """
    packages = ("", *(f".{name}" for name in (package, "wire", *more)))
    codes = {f"{_ALIAS}{name}": _compiled("", f"{_ALIAS}{name}") for name in packages}
    for place in packages[1:]:
        for file in sorted(files(f"assay_graders{place}").iterdir(), key=lambda f: f.name):
            name = file.name.removesuffix(".py")
            if file.name.endswith(".py") and name != "__init__":
                full = f"{_ALIAS}{place}.{name}"
                codes[full] = _compiled(file.read_text(encoding="utf-8"), full)
    known = {f"{_ALIAS}{name}" for name in packages}
    source = f"CODES = {codes!r}\nPACKAGES = {known!r}\n" + _LOADER.format(
        alias=_ALIAS, package=package, main=main
    )
    header = importlib.util.MAGIC_NUMBER + bytes(12)
    content = header + _compiled(source, main)
    return Mount(dst=f"/assay/{main}.pyc", kind=MountKind.FILE, content=content)


def _compiled(source: str, name: str) -> bytes:
    return marshal.dumps(compile(source, f"<{name}>", "exec", dont_inherit=True))
