"""Drivers of inquiries: they fetch the values of features from tables, mappings or callables."""

from costframe.sources.drivers import predict_many, predict_one, predict_one_async

__all__ = ["predict_many", "predict_one", "predict_one_async"]
