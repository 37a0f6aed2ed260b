"""Who does it: engines turn what the user said into findings. They read nothing and write nothing themselves."""
