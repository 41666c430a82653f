"""Several GPUs and machines: commands that start servers and learner, and measurements of GPUs."""
