"""The commands as their users see them: each module here has the arguments, options and help of one.

What a command does is in the module of the same name one folder up, which loads when the command runs.
"""

import click

from costframe import __version__
from costframe.cli.group import CostframeGroup, Entry

COMMANDS = {
    "compare": Entry("costframe.cli.commands.compare", "Compare algorithms by score and cost: the main command."),
    "costs": Entry("costframe.cli.commands.costs", "Write a file of prices to fill in."),
    "predict": Entry("costframe.cli.commands.predict", "Predict rows, each with its exact cost."),
    "cost": Entry("costframe.cli.commands.cost", "Report the exact cost of predictions."),
    "inspect": Entry("costframe.cli.commands.inspect", "Describe a model, on the terminal and as a page."),
    "fit": Entry("costframe.cli.commands.fit", "Fit one algorithm, and save the model."),
    "page": Entry("costframe.cli.commands.page", "Write a page that asks and answers in a browser, in one file."),
    "promise": Entry(
        "costframe.cli.commands.promise", "Choose the cheapest model that is certified to keep a promise."
    ),
    "pilot": Entry("costframe.cli.commands.pilot", "List rows to test by chance, where nobody knows what tests show."),
    "serve": Entry("costframe.cli.commands.serve", "Serve a model: what to ask next, as JSON, a page, or tools."),
    "board": Entry("costframe.cli.commands.board", "Merge results of comparisons, from anybody, into one page."),
    "audit": Entry("costframe.cli.commands.audit", "Prove that what was paid is what the model says."),
    "algorithms": Entry("costframe.cli.commands.listings", "List the installed algorithms."),
    "datasets": Entry("costframe.cli.commands.listings", "List the named data sets."),
}
EXAMPLES = """\b
Examples:
  costframe compare
  costframe costs patients.csv --target ill > prices.toml
  costframe compare patients.csv --costs prices.toml --target ill
  costframe predict frontier/recommended.model new.csv --output answers.csv
  costframe cost frontier/recommended.model new.csv --target ill
  costframe inspect frontier/recommended.model
"""


@click.group(
    "costframe",
    cls=CostframeGroup,
    entries=COMMANDS,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="costframe", message="%(prog)s %(version)s")
def costframe() -> None:
    """Train models that stay accurate while acquiring few features, with the exact cost of every prediction."""
