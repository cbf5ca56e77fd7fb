"""One module for each view that is not the table: analysis in, HTML out."""
