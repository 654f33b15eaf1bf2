"""Parts of SIMBA: the columns, what stays with the rows, the halves of a round and their messages."""
