"""The only thing that plugins import: interfaces, data, errors, reasons, trust.

This package has its own semantic version (`API_VERSION`) and imports nothing else of assay.
"""

from assay.api import (
    errors,
    graders,
    jail,
    linting,
    paths,
    probes,
    reasons,
    records,
    running,
    runtimes,
    sandboxes,
    tasks,
    trees,
    trust,
    version,
    workspaces,
)
from assay.api.errors import *  # noqa: F403
from assay.api.graders import *  # noqa: F403
from assay.api.jail import *  # noqa: F403
from assay.api.linting import *  # noqa: F403
from assay.api.paths import *  # noqa: F403
from assay.api.probes import *  # noqa: F403
from assay.api.reasons import *  # noqa: F403
from assay.api.records import *  # noqa: F403
from assay.api.running import *  # noqa: F403
from assay.api.runtimes import *  # noqa: F403
from assay.api.sandboxes import *  # noqa: F403
from assay.api.tasks import *  # noqa: F403
from assay.api.trees import *  # noqa: F403
from assay.api.trust import *  # noqa: F403
from assay.api.version import *  # noqa: F403
from assay.api.workspaces import *  # noqa: F403

__all__: list[str] = []
__all__ += workspaces.__all__
__all__ += errors.__all__
__all__ += graders.__all__
__all__ += jail.__all__
__all__ += linting.__all__
__all__ += paths.__all__
__all__ += probes.__all__
__all__ += reasons.__all__
__all__ += records.__all__
__all__ += running.__all__
__all__ += runtimes.__all__
__all__ += sandboxes.__all__
__all__ += tasks.__all__
__all__ += trees.__all__
__all__ += trust.__all__
__all__ += version.__all__
