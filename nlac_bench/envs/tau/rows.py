"""Declares the rows of τ's tables, and the structured arguments of its tools, as their JSON has them.

Rows of official data have these keys and may have others. A tool does not check its arguments: a model may
write any JSON value, and the message of the exception that Python then raises is the tool's observation.
"""

from typing import NotRequired, Required, TypeAlias, TypedDict


class Name(TypedDict):
    """A user's name."""

    first_name: str
    last_name: str


class PassengerRow(Name):
    """A passenger; ``dob`` is the date of birth (ISO)."""

    dob: str


class PaymentMethod(TypedDict, total=False):
    """A user's payment method; keys that its ``source`` does not need are absent."""

    source: Required[str]
    brand: str
    last_four: str
    balance: float
    amount: float
    id: str


PaymentMethods: TypeAlias = dict[str, PaymentMethod]


class RetailUser(TypedDict):
    """A user of the shop."""

    name: Name
    address: dict[str, str]
    email: str
    payment_methods: PaymentMethods
    orders: list[str]


class Variant(TypedDict):
    """A variant of a product; ``price`` is in dollars."""

    item_id: str
    options: dict[str, str]
    available: bool
    price: float


class Product(TypedDict):
    """A product, with its variants by item id."""

    name: str
    product_id: str
    variants: dict[str, Variant]


class OrderItem(TypedDict):
    """One item of an order."""

    name: str
    product_id: str
    item_id: str
    price: float
    options: dict[str, str]


class OrderPayment(TypedDict):
    """An entry of an order's payment history."""

    transaction_type: str
    amount: float
    payment_method_id: str


class Order(TypedDict):
    """An order of the shop."""

    order_id: str
    user_id: str
    address: dict[str, str]
    items: list[OrderItem]
    fulfillments: list[dict[str, list[str]]]
    status: str
    payment_history: list[OrderPayment]


class AirlineUser(TypedDict):
    """A user of the airline."""

    name: Name
    address: dict[str, str]
    email: str
    dob: str
    payment_methods: PaymentMethods
    saved_passengers: list[PassengerRow]
    membership: str
    reservations: list[str]


class FlightDay(TypedDict):
    """A flight on one day. Seats and prices, by cabin, exist only where ``status`` is ``available``."""

    status: str
    available_seats: NotRequired[dict[str, int]]
    prices: NotRequired[dict[str, int]]
    actual_departure_time_est: NotRequired[str]
    estimated_departure_time_est: NotRequired[str]
    actual_arrival_time_est: NotRequired[str]
    estimated_arrival_time_est: NotRequired[str]


class Flight(TypedDict):
    """A flight, with its days by ISO date."""

    flight_number: str
    origin: str
    destination: str
    scheduled_departure_time_est: str
    scheduled_arrival_time_est: str
    dates: dict[str, FlightDay]


class WantedFlight(TypedDict):
    """A flight as the agent names it; booking adds price, origin and destination."""

    flight_number: str
    date: str
    price: NotRequired[int]
    origin: NotRequired[str]
    destination: NotRequired[str]


class Segment(TypedDict):
    """One flight of a reservation."""

    origin: str
    destination: str
    flight_number: str
    date: str
    price: int


class FlightPayment(TypedDict):
    """An entry of a reservation's payment history."""

    payment_id: str
    amount: int


class Reservation(TypedDict):
    """A reservation of the airline."""

    reservation_id: str
    user_id: str
    origin: str
    destination: str
    flight_type: str
    cabin: str
    flights: list[Segment]
    passengers: list[PassengerRow]
    payment_history: list[FlightPayment]
    created_at: str
    total_baggages: int
    nonfree_baggages: int
    insurance: str
