"""Modeling code that ``write_standin`` copies beside a stand-in's weights; transformers loads it from there."""
