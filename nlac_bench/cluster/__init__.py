"""Uses several GPUs: starts servers and learner (launch), and measures them (gpu)."""
