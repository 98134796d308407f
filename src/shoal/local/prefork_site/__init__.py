"""The folder that a prefork parent finds first on its PYTHONPATH."""
