from websearch.fetching.cases import *  # noqa
