# What `__init__.py` loads when it is first used: each name, and its module.

from costframe.sources.audits import Audit as Audit
from costframe.sources.audits import audit as audit
from costframe.sources.calls import CallSource as CallSource
from costframe.sources.fields import Field as Field
from costframe.sources.http import HTTPSource as HTTPSource
from costframe.sources.logged_rows import LoggedRows as LoggedRows
from costframe.sources.logged_rows import read_logged_rows as read_logged_rows
from costframe.sources.logs import InquiryLog as InquiryLog
from costframe.sources.lookup import Lookup as Lookup
from costframe.sources.lookup import Policy as Policy
from costframe.sources.many_rows import predict_many as predict_many
from costframe.sources.measuring import measure as measure
from costframe.sources.one_row import predict_one as predict_one
from costframe.sources.one_row import predict_one_async as predict_one_async
from costframe.sources.predictions import Predictions as Predictions
from costframe.sources.redis import RedisSource as RedisSource
from costframe.sources.source import KeyRefusedError as KeyRefusedError
from costframe.sources.source import Source as Source
from costframe.sources.sources import Sources as Sources
from costframe.sources.sql import SQLSource as SQLSource
from costframe.sources.streams import predict_stream as predict_stream
from costframe.sources.streams import predict_stream_async as predict_stream_async
from costframe.sources.table import TableSource as TableSource
from costframe.sources.telemetry import PrometheusCounters as PrometheusCounters
from costframe.sources.telemetry import trace_rounds as trace_rounds
