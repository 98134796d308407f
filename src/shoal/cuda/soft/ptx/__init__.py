"""PTX as text, as a tree, and as the flat body of one kernel. Pure: nothing here compiles or runs."""
