"""Playing episodes: engines, the driver, and recording and replaying of model calls."""
