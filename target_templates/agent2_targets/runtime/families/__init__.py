"""Families of environments that need more than a constructor: each module builds the environments of one."""
