"""A model that lives: data sets that join, refits, other features, missing values."""
