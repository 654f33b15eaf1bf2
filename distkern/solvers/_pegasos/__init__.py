"""Parts of Pegasos: what a piece of the stream holds, and the compiled loops."""
