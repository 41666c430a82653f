"""Lists the 16 tools of τ-bench retail."""

from nlac_bench.envs.tau.common import calculate, think, transfer_to_human_agents
from nlac_bench.envs.tau.invoke import toolset
from nlac_bench.envs.tau.retail import lookups, orders

TOOLS = toolset(
    "retail",
    [
        calculate,
        orders.cancel_pending_order,
        orders.exchange_delivered_order_items,
        lookups.find_user_id_by_email,
        lookups.find_user_id_by_name_zip,
        lookups.get_order_details,
        lookups.get_product_details,
        lookups.get_user_details,
        lookups.list_all_product_types,
        orders.modify_pending_order_address,
        orders.modify_pending_order_items,
        orders.modify_pending_order_payment,
        orders.modify_user_address,
        orders.return_delivered_order_items,
        think,
        transfer_to_human_agents,
    ],
)
