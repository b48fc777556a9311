"""Only `make test-seeded` makes the suite look for bugs: it runs tests once more for each bug."""

import os

collect_ignore = [] if "HEADWATER_TEST_KILLS" in os.environ else ["test_found_by_the_suite.py"]
