"""Parts of NORMA: steps on explicit features, and on an expansion in kernels that every process keeps."""
