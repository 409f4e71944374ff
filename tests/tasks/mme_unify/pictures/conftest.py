"""Tests over the cases of MME-Unify's specification are collected only where
``MMEVAL_MME_UNIFY_CASES`` names them."""

import os

collect_ignore = [] if os.environ.get("MMEVAL_MME_UNIFY_CASES") else ["test_parity.py"]
