"""What all requests to a service share, and one step of a conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import field, frozen

from costframe.core.errors import InquiryError, quote_names
from costframe.serve.conversation import Conversation
from costframe.serve.model_file import ModelFile
from costframe.serve.replies import describe_step
from costframe.serve.requests import StepRequest
from costframe.serve.seals import Seal
from costframe.serve.values import as_known, as_row
from costframe.sources import Sources

LOCAL = ("localhost", "127.0.0.1", "[::1]")


@frozen(eq=False)
class Service:
    """What all requests share.

    Attributes
    ----------
    models : ModelFile
    seal : Seal
        Of states.
    open_sources : callable, optional
        Returns `Sources` for `predict`; None where rows come with their values.
    hosts : tuple of str
        Names that requests may call the service by; "*" is any.
    deadline : float or None
        Seconds that a row of the sources may take, unless its request says less.
    in_flight : int
        Rows of the sources at once; further ones are refused, so that those that wait keep their deadline.
    """

    models: ModelFile
    seal: Seal = field(factory=Seal)
    open_sources: Callable[[], Sources] | None = None
    hosts: tuple[str, ...] = LOCAL
    deadline: float | None = None
    in_flight: int = 64

    def step(self, body: bytes) -> Any:
        """Take one step of a conversation: begin it, or tell it something; return what it says."""
        asked = StepRequest.read(body)
        if asked.state is None:
            model = self.models.model
            known = as_known(asked.terms.get("known", ()), model.predictor)
            if twice := known.keys() & asked.values.keys():
                raise InquiryError(f"{quote_names(sorted(twice))}: given as known, and as values")
            known |= as_row(asked.values, model.predictor)
            terms = asked.terms | {"known": known or (), "unavailable": asked.unavailable}
            talk = Conversation.begin(model.predictor, model.prices, **terms)
        else:
            model, talk = self.models.resume(self.seal.open(asked.state))
            talk = talk.tell(asked.values, asked.unavailable)
        return describe_step(model.fitted, talk, self.seal.close(talk.state()) if talk.needs else None, asked.include)
