"""Plots, tables and texts for pages: SVG and Markdown without a plotting library."""
