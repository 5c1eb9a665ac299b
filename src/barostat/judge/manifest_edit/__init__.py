"""One change written into flags, shell text, pod templates and the sources that own them."""
