"""Where the rows of a fit live, and who works on them: threads of this process, or a Dask cluster."""
