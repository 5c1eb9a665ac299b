"""From a model, a card and flags to a capacity plan, and from a plan and traffic to limits."""
