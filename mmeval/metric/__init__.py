"""The contract of metrics: switches, models of metrics and derived metrics."""
