"""Tests of paired differences, by method. Each test computes a one-sided p for any true
difference. The two-sided p and the interval follow from it."""
