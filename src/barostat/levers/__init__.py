"""One file per lever: for which causes and engine versions it is right, and the value it proposes."""
