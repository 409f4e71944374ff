"""``responses``: the endpoint in which OpenAI's models give text and pictures in one
answer, and the state of its conversations."""
