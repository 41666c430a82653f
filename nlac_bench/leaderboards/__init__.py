"""Leaderboards: entries made from finished runs, and the boards that are collected from them."""
