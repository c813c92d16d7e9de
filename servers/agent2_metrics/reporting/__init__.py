"""The report: gathering the facts of a project, and having it rendered."""
