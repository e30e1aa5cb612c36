"""Tests and the tools made of them (`python -m tests.notebooks.refresh`, `python -m tests.browser.screenshots`)."""
