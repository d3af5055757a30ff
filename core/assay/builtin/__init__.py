"""Built-in plugins, reached only through their entry points."""
