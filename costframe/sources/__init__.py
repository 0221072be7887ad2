"""Drivers: they fetch what inquiries ask for, from values at hand or from anything that can be called."""

from costframe.sources.drivers import predict_many, predict_one, predict_one_async

__all__ = ["predict_many", "predict_one", "predict_one_async"]
