"""The methods that the papers compare with: NORMA, SDCA, SBMD and RBCD."""
