"""Labels of own photos, and questions made from labels."""
