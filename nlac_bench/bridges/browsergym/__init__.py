"""Tasks on web pages in a browser, through BrowserGym: one (``browsergym``), or MiniWoB++ (``miniwob``)."""

from nlac_bench.bridges.browsergym.env import BrowserGymEnv, MiniWobEnv

__all__ = ["BrowserGymEnv", "MiniWobEnv"]
