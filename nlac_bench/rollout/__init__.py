"""How episodes are played: engines, the driver, record and replay."""
