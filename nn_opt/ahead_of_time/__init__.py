"""A model ahead of time: the files that programs of others load, for every kind of target."""
