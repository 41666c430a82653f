"""Lists the names and places that the embedded databases use."""

FIRST_NAMES = (
    "Ada", "Alba", "Amir", "Anton", "Bela", "Bruno", "Carla", "Cleo", "Dana", "Dario", "Edith", "Elio",
    "Farah", "Felix", "Freya", "Gemma", "Goran", "Greta", "Hana", "Hugo", "Ida", "Ines", "Ivo", "Jana",
    "Jonas", "Joy", "Kira", "Klaus", "Laila", "Leon", "Lotte", "Luca", "Mara", "Marek", "Milo", "Nadia",
    "Nils", "Nora", "Odette", "Oscar", "Paula", "Petra", "Quinn", "Rafael", "Rosa", "Ruben", "Selma",
    "Simon", "Talia", "Theo", "Tilda", "Uma", "Vera", "Viktor", "Wanda", "Wim", "Ximena", "Yusra", "Zeno",
    "Zora",
)  # fmt: skip

LAST_NAMES = (
    "Abbott", "Adler", "Arden", "Bakker", "Barlow", "Becker", "Bianchi", "Calder", "Carver", "Costa",
    "Dalton", "Denis", "Duarte", "Ekberg", "Ellery", "Falk", "Farrow", "Ferrari", "Gable", "Gruber",
    "Hale", "Hartog", "Holm", "Ilves", "Jansen", "Jarvis", "Keller", "Kline", "Lang", "Lindgren", "Lowell",
    "Mercer", "Molnar", "Moss", "Navarro", "Novak", "Oakes", "Olsen", "Pavlov", "Perrin", "Petrov",
    "Quist", "Ramsey", "Reyes", "Sabin", "Schmid", "Soto", "Tanner", "Thorne", "Ueda", "Urban", "Vance",
    "Vogel", "Walsh", "Weber", "Winter", "Yates", "Young", "Zeller", "Zorn",
)  # fmt: skip

STREETS = (
    "Alder Way", "Bakery Row", "Birch Lane", "Canal Street", "Cherry Court", "Clover Road", "Creek Side",
    "Dock Street", "Fern Alley", "Foundry Road", "Garnet Street", "Harbour View", "Hazel Walk",
    "Juniper Street", "Kiln Road", "Lantern Lane", "Linden Place", "Market Square", "Meadow Road",
    "Mill Street", "Orchard Row", "Pebble Lane", "Quarry Road", "Rowan Street", "Station Road",
    "Tannery Lane", "Thistle Way", "Wharf Street", "Willow Bend", "Windmill Road",
)  # fmt: skip

CITIES = (
    ("Albany", "NY", "122"), ("Boise", "ID", "837"), ("Buffalo", "NY", "142"), ("Eugene", "OR", "974"),
    ("Fresno", "CA", "937"), ("Hartford", "CT", "061"), ("Knoxville", "TN", "379"), ("Lincoln", "NE", "685"),
    ("Madison", "WI", "537"), ("Mobile", "AL", "366"), ("Norfolk", "VA", "235"), ("Omaha", "NE", "681"),
    ("Portland", "ME", "041"), ("Provo", "UT", "846"), ("Reno", "NV", "895"), ("Savannah", "GA", "314"),
    ("Spokane", "WA", "992"), ("Tucson", "AZ", "857"), ("Tulsa", "OK", "741"), ("Wichita", "KS", "672"),
)  # fmt: skip
"""City, state and the first three digits of its zip codes."""
