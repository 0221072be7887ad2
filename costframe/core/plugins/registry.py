"""The registry of plugins: algorithms, data sets and sources by name, and the faults of broken plugins."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pluggy
from attrs import field, frozen
from pluggy import HookImpl

from costframe import hooks
from costframe.core.errors import CostframeError, PluginError, shown
from costframe.core.plugins.entries import (
    TASKS,
    check_algorithms,
    check_kind,
    check_named_functions,
    class_name,
    one_line,
    plugin_title,
    suggest,
)
from costframe.hooks import Algorithm

GROUP = "costframe"


@frozen
class Registry:
    """Algorithms, data sets and sources of plugins by name, and the faults of broken plugins."""

    manager: pluggy.PluginManager
    # algorithms, datasets, sources: usable entries by name
    algorithms: dict[str, Algorithm] = field(factory=dict)
    datasets: dict[str, Any] = field(factory=dict)
    sources: dict[str, Any] = field(factory=dict)
    # error texts: by entry point for a plugin that failed, and by name for an entry that two plugins claim
    broken: dict[str, str] = field(factory=dict)
    owners: dict[str, EntryPoint] = field(factory=dict)  # the plugin of each algorithm

    @classmethod
    def load(cls, points: Iterable[EntryPoint]) -> Registry:
        """Load plugins from entry points; note the faults of broken ones instead of raising them."""
        registry, points = cls(pluggy.PluginManager(GROUP)), list(points)
        registry.manager.add_hookspecs(hooks)
        for point in points:
            registry._register(point)
        titled = {plugin_title(point): point for point in points}
        plugins = registry._collect("costframe_algorithms", registry.algorithms, check_algorithms)
        registry.owners.update((name, titled[first]) for name, (first, *_) in plugins.items())
        registry._collect("costframe_datasets", registry.datasets, check_named_functions)
        registry._collect("costframe_sources", registry.sources, check_named_functions)
        return registry

    def algorithm(self, name: str) -> Algorithm:
        """Return an algorithm by name.

        A PluginError refuses a name that no algorithm has, that two plugins claim, or whose plugin is broken.
        """
        entry: Algorithm = self._find(self.algorithms, name, "algorithm")
        return entry

    def kind(self, name: str, task: str) -> Any:
        """Return the estimator class of an algorithm for a task, or None; errors as for `algorithm`."""
        algorithm, role = self.algorithm(name), TASKS[task]
        if role not in algorithm.given:
            return None
        try:
            return check_kind(name, role, getattr(algorithm, role))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an import of a foreign module may raise anything
            del self.algorithms[name]
            self._add_fault(name, f"its {task} cannot be loaded: {one_line(error)}")
            return self.algorithm(name)

    def loads(self, name: str, task: str) -> bool:
        """Return whether the estimator class of an algorithm for a task can be loaded, or there is none."""
        try:
            self.kind(name, task)
        except PluginError:
            return False
        return True

    def classes_named(self, name: str) -> dict[type, str]:
        """Return the estimator classes of a name, and the first algorithm of each."""
        owners: dict[type, str] = {}
        for algorithm in self.algorithms.values():
            for role, kind in algorithm.given.items():
                if class_name(kind) == name:
                    owners.setdefault(getattr(algorithm, role), algorithm.name)
        return owners

    def estimator_class(self, name: str, beside: Iterable[str] = ()) -> type:
        """Return the estimator class with a name, of any algorithm: `costframe` has it as an attribute.

        An AttributeError suggests one with a near name, or a near one of `beside`. It is an ImportError if two
        algorithms have different classes of the name, or some plugins are broken.
        """
        owners = self.classes_named(name)
        if len(owners) > 1:
            claimed = " and ".join(map(repr, sorted(owners.values())))
            raise ImportError(f"{name}: algorithms {claimed} each have a class of this name; use costframe.estimator")
        if owners:
            return next(iter(owners))
        known = [class_name(kind) for algorithm in self.algorithms.values() for kind in algorithm.given.values()]
        hint = suggest(name, [*beside, *known])
        lacking = f"module 'costframe' has no attribute {name!r}, and no algorithm has such a class{hint}"
        if self.broken:
            raise ImportError("; ".join([lacking, *self.broken.values()]))
        raise AttributeError(lacking)

    def dataset(self, name: str) -> Callable[[], Any]:
        """Return a data set's loader by name; errors as for `algorithm`."""
        loader: Callable[[], Any] = self._find(self.datasets, name, "data set")
        return loader

    def source(self, kind: str) -> Callable[..., Any]:
        """Return a function that makes sources of a kind; errors as for `algorithm`."""
        maker: Callable[..., Any] = self._find(self.sources, kind, "kind of source")
        return maker

    def adopt(self, model: Any, feature_names: Sequence[str] | None) -> Any:
        """Return the `Predictor` that the first plugin makes from a foreign model, or None.

        Raises
        ------
        CostframeError
            If a plugin knows this kind of model, but cannot adopt it.
        PluginError
            If no plugin adopts it and some plugins failed; the text names them.
        """
        has = "predict", "decision_function", "inquire", "cost"
        return self._ask("costframe_adopt", "Predictor", has, model=model, feature_names=feature_names)

    def prepare(self, transformer: Any, feature_names: Sequence[str] | None) -> Any:
        """Return the `Preparation` that the first plugin makes of a foreign transformer, or None; errors as `adopt`."""
        has = "made_from", "transform"
        return self._ask("costframe_prepare", "Preparation", has, transformer=transformer, feature_names=feature_names)

    def spare(self, tree: Any, rows: Any) -> Any:
        """Return the `StageTree` that the first plugin learns to stand in for one, or None; errors as for `adopt`."""
        return self._ask("costframe_spare", "StageTree", ("stages", "bank"), tree=tree, rows=rows)

    def _ask(self, hook: str, kind: str, has: Iterable[str], **offered: Any) -> Any:
        """Return the first result of a hook, which must have the attributes of its kind."""
        failed: list[str] = []
        for plugin, implementation in self._implementations(hook):
            try:
                answer = implementation.function(*(offered[name] for name in implementation.argnames))
            except CostframeError:
                raise
            except Exception as error:  # noqa: BLE001 - the next plugin must still have its turn
                failed.append(f"plugin {plugin}: {hook} failed: {one_line(error)}")
                continue
            if answer is None:
                continue
            if all(hasattr(answer, name) for name in has):
                return answer
            failed.append(f"plugin {plugin}: {hook} returned no {kind} but {type(answer).__name__}")
        if failed:
            raise PluginError("; ".join(failed))
        return None

    def _register(self, point: EntryPoint) -> None:
        title = plugin_title(point)
        if self.manager.has_plugin(title):
            self._add_fault(point.name, f"plugin {title} is installed twice; the first found is used")
            return
        plugin = None
        try:
            plugin = point.load()
            self.manager.register(plugin, title)
            self.manager.check_pending()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an import of a foreign plugin may raise anything
            if plugin is not None and self.manager.get_plugin(title) is plugin:
                self.manager.unregister(plugin)
            self._add_fault(point.name, f"plugin {title} cannot be loaded: {one_line(error)}")

    def _implementations(self, hook: str) -> Iterator[tuple[str, HookImpl]]:
        for implementation in reversed(getattr(self.manager.hook, hook).get_hookimpls()):
            yield implementation.plugin_name, implementation

    def _collect(
        self, hook: str, into: dict[str, Any], read: Callable[[Any], Mapping[str, Any]]
    ) -> dict[str, list[str]]:
        """Collect what a hook brings; return the titles of the plugins of each name."""
        owners: dict[str, list[str]] = {}
        for plugin, implementation in self._implementations(hook):
            try:
                entries = read(implementation.function())
            except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
                self._add_fault(plugin.partition(" (")[0], f"plugin {plugin}: {hook} failed: {one_line(error)}")
                continue
            for name, entry in entries.items():
                owners.setdefault(name, []).append(plugin)
                into[name] = entry
        for name, plugins in owners.items():
            if len(plugins) > 1:
                del into[name]
                claimed = " and ".join(sorted(plugins))
                self._add_fault(name, f"{name!r} is claimed by {claimed}; neither is loaded, uninstall one of them")
        return owners

    def _add_fault(self, name: str, reason: str) -> None:
        self.broken[name] = f"{self.broken[name]}; {reason}" if name in self.broken else reason

    def _find(self, table: Mapping[str, Any], name: str, what: str) -> Any:
        if not isinstance(name, str):
            raise PluginError(f"{what}: expected a name, got {shown(name)}")
        if name in table:
            try:
                return hooks.load(table[name])
            except Exception as error:
                raise PluginError(f"{what} {name!r} cannot be loaded: {one_line(error)}") from error
        if name in self.broken:
            raise PluginError(f"{what} {name!r}: {self.broken[name]}")
        failed = "".join(f"; {reason}" for reason in self.broken.values())
        expected = ", ".join(sorted(table)) or "none"
        raise PluginError(f"{what} {name!r}: expected one of {expected}{suggest(name, table)}{failed}")


@functools.cache
def registry() -> Registry:
    """Return the plugins installed beside costframe, loaded on first use."""
    return Registry.load(entry_points(group=GROUP))
