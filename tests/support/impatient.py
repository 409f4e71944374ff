"""mmeval with little patience, so that a test need not wait as long as a user: ``python
-m tests.support.impatient SECONDS ...`` gives up a backend that cannot be reached after
so many seconds, whether it has answered before or not."""

import sys

from mmeval.__main__ import main
from mmeval.broker import outage

if __name__ == "__main__":
    outage.START_SECONDS = outage.OUTAGE_SECONDS = float(sys.argv[1])
    sys.exit(main(sys.argv[2:]))
