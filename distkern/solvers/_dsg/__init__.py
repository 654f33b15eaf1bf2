"""Parts of DSG: its model, batches, growth of features, rules of steps and polishing of coefficients."""
