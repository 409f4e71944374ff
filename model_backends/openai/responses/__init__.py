"""``responses``: the endpoint by which OpenAI's models give words and pictures in one
answer, and the state of their conversations."""
