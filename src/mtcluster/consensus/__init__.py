"""Many quick fits vote on the cluster of each row: a start for the fit, and evidence for what it decides."""
