"""The operator's work on ModelServers: their objects are brought about, and their status told."""
