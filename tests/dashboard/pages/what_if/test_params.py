"""The parameters of What if: a period in whole days, and at most five models."""

from datetime import date

import pytest
from django.http import QueryDict

from dashboard.pages.what_if.params import WhatIfParams


def test_a_period_is_extended_to_whole_days():
    params = WhatIfParams.parse(QueryDict("since=2026-11-01T14:00Z&until=2026-11-03T00:00Z&agent=a"))

    scope = params.scope(1)

    assert (scope.first, scope.last, scope.agent) == (date(2026, 11, 1), date(2026, 11, 2), "a")


@pytest.mark.parametrize("count", [5, 6])
def test_more_than_five_models_are_ignored_with_a_note(count):
    params = WhatIfParams.parse(QueryDict("&".join(f"model=p:m{n}" for n in range(count))))

    assert params.models == [(f"m{n}", "p") for n in range(5)]
    assert len(params.notes) == count - 5
