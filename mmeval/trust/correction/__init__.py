"""Estimates the mean human value of trials of which all are scored and few are rated.

Everything here takes arrays and draws nothing, so equal input gives equal digits.
"""
