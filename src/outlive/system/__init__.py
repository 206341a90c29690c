"""Kernel facts, each behind one plain function. Linux first; where Python offers another way it stands beside it."""
