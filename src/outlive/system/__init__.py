"""Facts of the Linux kernel, each behind one plain function."""
