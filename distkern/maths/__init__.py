"""The mathematics below solvers: losses, kernels, samplers, bases, landmarks, features, maps of rows."""
