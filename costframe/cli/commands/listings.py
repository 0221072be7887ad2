"""`costframe algorithms` and `costframe datasets`, which take no options."""

import click

from costframe.cli.run import run


@click.command()
def algorithms() -> None:
    """List the installed algorithms, and plugins that cannot be loaded."""
    run("costframe.cli.listings:list_algorithms", {})


@click.command()
def datasets() -> None:
    """List the named data sets, and plugins that cannot be loaded."""
    run("costframe.cli.listings:list_datasets", {})
