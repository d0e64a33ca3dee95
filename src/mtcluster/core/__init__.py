"""The mathematics of SPMTC: arrays in, arrays out.

Letters follow the paper, with examples as rows. Nothing here knows scikit-learn, files or tasks' names.
"""
