"""Which tools fit a request: words, vectors where they are installed, and an honest "nothing fits"."""
