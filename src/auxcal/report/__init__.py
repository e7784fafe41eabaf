"""Reports on your own data: the comparison, its page, folder and table in the terminal, and plots."""
