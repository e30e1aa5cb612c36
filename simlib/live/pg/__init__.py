"""A real PostgreSQL for the lessons: found or started, shared by all who use it, gone with the last of them."""
