"""Tests over published tables are collected only where ``MMEVAL_RESULTS_CASES`` names
their folder."""

import os

collect_ignore = [] if os.environ.get("MMEVAL_RESULTS_CASES") else ["test_parity.py"]
