"""The Python API: evaluates, trains, loads and compares runs. The command line uses the same functions."""
