"""Reports: one self-contained HTML file for a run, a training run, a comparison of runs or a sweep."""
