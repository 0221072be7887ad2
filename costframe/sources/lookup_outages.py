"""What an outage of each lookup costs a model, in words, from figures that were measured before."""

from __future__ import annotations

from collections.abc import Mapping

from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.digest import prices_digest
from costframe.core.terms.outages import Outages
from costframe.core.terms.terms import Terms
from costframe.sources.lookup import Lookup

_INSTEAD = {"without": "", "raise": '; "raise" ends rows', "missing": '; "missing" may cost more or less'}
UNKNOWN = "not measured; cf.outages(model, X, y, sources=sources) does it"
OTHER_TERMS = "not known at these prices and limits; cf.outages measures at prices that it is given, without limits"


def describe_outages(
    outages: Outages, lookups: Mapping[str, Lookup], predictor: Predictor, terms: Terms
) -> dict[str, str]:
    """Return what an outage costs, in words, of each lookup that serves a feature on which labels depend.

    Figures hold where a row goes without what is down, and for rows without limits at their own prices.
    """
    used = frozenset(predictor.label_features(terms.costs))
    is_usual = (terms.max_cost, terms.tradeoff, *terms.unavailable, *terms.known) == (None, None)
    has_same_prices = prices_digest(terms.costs) == outages.prices
    told = {}
    for name, lookup in lookups.items():
        if gone := used.intersection(lookup.features):
            known = outages.of_features(gone)
            text = UNKNOWN if known is None else outages.figures(known) + _INSTEAD[lookup.policy.on_failure]
            told[name] = text if is_usual and has_same_prices else OTHER_TERMS
    return told
