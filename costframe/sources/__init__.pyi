# What `__init__.py` loads when it is first used: each name, and its module.

from costframe.sources.drivers import predict_many as predict_many
from costframe.sources.drivers import predict_one as predict_one
from costframe.sources.drivers import predict_one_async as predict_one_async
from costframe.sources.drivers import predict_stream as predict_stream
from costframe.sources.drivers import predict_stream_async as predict_stream_async
from costframe.sources.fields import Field as Field
from costframe.sources.http import HTTPSource as HTTPSource
from costframe.sources.logs import Audit as Audit
from costframe.sources.logs import InquiryLog as InquiryLog
from costframe.sources.logs import PrometheusCounters as PrometheusCounters
from costframe.sources.logs import audit as audit
from costframe.sources.logs import trace_rounds as trace_rounds
from costframe.sources.lookups import Lookup as Lookup
from costframe.sources.lookups import Policy as Policy
from costframe.sources.measuring import measure as measure
from costframe.sources.predictions import Predictions as Predictions
from costframe.sources.redis import RedisSource as RedisSource
from costframe.sources.source import CallSource as CallSource
from costframe.sources.source import KeyRefusedError as KeyRefusedError
from costframe.sources.source import Source as Source
from costframe.sources.source import TableSource as TableSource
from costframe.sources.sources import Sources as Sources
from costframe.sources.sql import SQLSource as SQLSource
