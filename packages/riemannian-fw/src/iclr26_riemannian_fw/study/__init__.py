"""What the jobs show: data, tables and plots."""
