"""`mtcluster app`: a page on this computer for people without Python."""
