"""The viewer: the episodes of runs and the texts of a language critic, as one page without network."""
