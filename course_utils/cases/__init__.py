"""What the exercises of several labs share: makers of inputs, properties, and ways to call a learner's code."""
