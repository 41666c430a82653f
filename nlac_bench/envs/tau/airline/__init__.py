"""Lists the 14 tools of τ-bench airline."""

from dataclasses import replace

from nlac_bench.envs.tau.airline import bookings, lookups
from nlac_bench.envs.tau.common import calculate, think, transfer_to_human_agents
from nlac_bench.envs.tau.invoke import toolset

TOOLS = toolset(
    "airline",
    [
        bookings.book_reservation,
        calculate,
        bookings.cancel_reservation,
        lookups.get_reservation_details,
        lookups.get_user_details,
        lookups.list_all_airports,
        lookups.search_direct_flight,
        lookups.search_onestop_flight,
        bookings.send_certificate,
        think,
        transfer_to_human_agents,
        bookings.update_reservation_baggages,
        bookings.update_reservation_flights,
        bookings.update_reservation_passengers,
    ],
)

_FLIGHTS = "update_reservation_flights"
EMBEDDED_TOOLS = {**TOOLS, _FLIGHTS: replace(TOOLS[_FLIGHTS], run=bookings.update_flights_and_cabin)}
"""The tools on embedded data: a change of flights also stores the new cabin, which the original does not."""
