"""The topics, in the order in which they are measured and shown."""

from bench.figures import Topic
from bench.topics import (
    app_server,
    cold_start,
    concurrency,
    decision,
    dispatch,
    exec_turn,
    flood,
    growth,
    idle_memory,
    imports,
    pty_round_trip,
    sandbox_command,
    tool_calls,
    version,
)

TOPICS: tuple[Topic, ...] = (
    dispatch.TOPIC,
    concurrency.TOPIC,
    flood.TOPIC,
    pty_round_trip.TOPIC,
    cold_start.TOPIC,
    idle_memory.TOPIC,
    growth.TOPIC,
    version.TOPIC,
    sandbox_command.TOPIC,
    exec_turn.TOPIC,
    tool_calls.TOPIC,
    app_server.TOPIC,
    decision.TOPIC,
    imports.TOPIC,
)
