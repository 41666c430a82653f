"""Sweeps: run and compare training methods on several environments and seeds."""
