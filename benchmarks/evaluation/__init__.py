"""Published experiments again, and other methods: data × methods × grids × seeds → a table of runs → pages."""
