"""Tests of paired differences, by method. Each gives a one-sided p for any true
difference; p and interval follow from that."""
