"""The `assay` command."""

import signal
import threading

# Until `main` can tell an interrupt in one line, it ends the process without a traceback.
_early = (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
)
if _early:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from assay.cli.app import main  # noqa: E402

if _early:
    signal.signal(signal.SIGINT, signal.default_int_handler)

__all__ = ["main"]
