"""stub"""


def layout(run):
    return iter(())
