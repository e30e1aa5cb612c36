"""The same stories for real: PostgreSQL, HTTP, processes that are killed."""
