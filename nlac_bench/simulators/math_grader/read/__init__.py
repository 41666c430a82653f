"""Reads LaTeX into a tree of nodes."""
