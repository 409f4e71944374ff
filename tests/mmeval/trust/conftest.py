"""Tests over the given cases of trust are collected only where ``MMEVAL_TRUST_CASES``
names their folder."""

import os

collect_ignore = [] if os.environ.get("MMEVAL_TRUST_CASES") else ["test_parity.py"]
