"""What can be said about a wrong output without knowing why it is wrong: sentences that are true by construction.

A sentence is about every case that fails, or it names the cases that it is about. It moves no point. Everything here
is a pure function of the outcomes and of what is expected; texts that come from learners' code are never repeated.
"""
