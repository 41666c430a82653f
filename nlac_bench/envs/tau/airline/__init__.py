"""Lists the 14 tools of τ-bench airline."""

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
