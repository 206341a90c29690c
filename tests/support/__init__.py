"""What the tests stand on. Nothing in here is a test."""
