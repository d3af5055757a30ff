"""The only thing that plugins import: interfaces, data, errors, reasons, trust.

This package has its own semantic version (`API_VERSION`) and imports nothing else of assay.
"""

from assay.api import errors, interfaces, jail, paths, reasons, records, tasks, trees, trust
from assay.api.errors import *  # noqa: F403
from assay.api.interfaces import *  # noqa: F403
from assay.api.jail import *  # noqa: F403
from assay.api.paths import *  # noqa: F403
from assay.api.reasons import *  # noqa: F403
from assay.api.records import *  # noqa: F403
from assay.api.tasks import *  # noqa: F403
from assay.api.trees import *  # noqa: F403
from assay.api.trust import *  # noqa: F403

__all__: list[str] = []
__all__ += errors.__all__
__all__ += interfaces.__all__
__all__ += jail.__all__
__all__ += paths.__all__
__all__ += reasons.__all__
__all__ += records.__all__
__all__ += tasks.__all__
__all__ += trees.__all__
__all__ += trust.__all__
