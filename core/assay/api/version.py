"""Version of the plugin API, apart from the framework's own."""

__all__ = ["API_VERSION"]

API_VERSION = "1.0"
"""Version of this API; a plugin's `api` must have the same major and no later minor."""
