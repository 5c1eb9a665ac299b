"""What needs several rooms, still pure: recordings -> windows -> symptoms -> cause."""
