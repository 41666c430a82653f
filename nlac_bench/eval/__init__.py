"""What came of it: runs on disk, statistics, comparisons, reports."""
