"""Several GPUs: servers and learner (launch), measurements (gpu)."""
