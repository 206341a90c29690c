"""Test reports that jobs write, read into one form.

A report is written by what a job runs, so nothing in it is trusted: how much is read, how deep and how long it may be
has bounds, a report that cannot be read is told in a sentence, and its texts are rendered plain."""
