"""The other training methods, one file each."""
