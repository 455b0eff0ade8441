"""What run directories have recorded, as columns: which runs there are, what is asked of one."""
