"""What must not leave the machine or reach a file."""
