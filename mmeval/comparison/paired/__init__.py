"""Tests of paired differences by method. Each gives the doubt about any true
difference, of which p and interval are made alike."""
