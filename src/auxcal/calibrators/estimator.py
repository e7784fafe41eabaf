"""The interface of a scikit-learn estimator, without importing scikit-learn, which takes longer than scoring."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from functools import cache
from typing import Any, Self

from auxcal._core.errors import InvalidInputError

_ROUTING = re.compile(r"get_metadata_routing|_get_\w*request\w*|set_\w+_request")
"""The methods of metadata routing: set_fit_request(features=True), and what answers for it."""


class Estimator:
    """Parameters like those of `sklearn.base.BaseEstimator`; scikit-learn is imported only when it calls.

    So `clone`, `Pipeline`, `GridSearchCV`, `check_is_fitted`, tags and metadata routing work without subclassing
    `BaseEstimator`.
    """

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(_defaults(cls))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor; if deep, those of nested estimators too, as ``name__parameter``.

        Examples
        --------
        >>> from auxcal import TemperatureScaling
        >>> TemperatureScaling().get_params()
        {'no_class': 'leave-out'}
        """
        params = {name: getattr(self, name) for name in self._get_param_names()}
        if deep:
            nested = {name: value for name, value in params.items() if hasattr(value, "get_params")}
            inner = {name: value.get_params() for name, value in nested.items() if not isinstance(value, type)}
            params |= {f"{name}__{key}": value for name, values in inner.items() for key, value in values.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor, or of nested estimators as ``name__parameter``.

        Examples
        --------
        >>> from auxcal import TemperatureScaling
        >>> TemperatureScaling().set_params(no_class="uniform")
        TemperatureScaling(no_class='uniform')
        """
        inner: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for key, value in params.items():
            name, nested, rest = key.partition("__")
            if name not in self._get_param_names():
                raise InvalidInputError(
                    f"Invalid parameter {name!r} for estimator {self}: its parameters are {self._get_param_names()}."
                )
            if nested:
                inner[name][rest] = value
            else:
                setattr(self, name, value)
        for name, values in inner.items():
            getattr(self, name).set_params(**values)
        return self

    def __repr__(self) -> str:
        """Return the call that makes it, with the arguments that are not the default."""
        defaults = _defaults(type(self))
        params = {name: repr(value) for name, value in self.get_params(deep=False).items()}
        changed = [f"{name}={value}" for name, value in params.items() if value != repr(defaults[name])]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator.__sklearn_tags__(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            from auxcal._core.errors import NotFittedError

            name = type(self).__name__
            raise NotFittedError(f"This {name} instance is not fitted yet. Call fit(logits, y), or auxcal.load(path).")

    def __getattr__(self, name: str) -> Any:
        # This is called for what is not there otherwise.
        if _ROUTING.fullmatch(name):
            kind = routing_class(type(self))  # type: ignore[arg-type]  # mypy takes a class for one of its instances
            return inspect.getattr_static(kind, name).__get__(self, kind)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)


def _defaults(kind: type) -> dict[str, Any]:
    """Return the parameters of the constructor with their defaults."""
    if kind.__init__ is object.__init__:  # type: ignore[misc]
        return {}
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]  # type: ignore[misc]
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        raise RuntimeError(f"{kind.__name__}.__init__ must name its parameters (no varargs), so that it can be cloned.")
    return {
        parameter.name: parameter.default for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD
    }


@cache
def routing_class(kind: type) -> type:
    """Return a subclass of scikit-learn's base with the same methods, for metadata routing."""
    from sklearn.base import BaseEstimator

    methods = inspect.getmembers(kind, inspect.isfunction)
    return type(kind.__name__, (BaseEstimator,), {name: method for name, method in methods if not name.startswith("_")})
