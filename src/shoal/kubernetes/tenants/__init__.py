"""Tenants on a cluster: which objects a tenant is, and how they are brought about, listed and removed."""
