"""Prices, budgets and bills."""
