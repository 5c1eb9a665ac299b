"""Documents -> what they would start and watch: the facts that lint's rules judge, read with the
engine's own parser and the planner.
"""
