from nlac_bench.api.functions import aevaluate as aevaluate
from nlac_bench.api.functions import atrain as atrain
from nlac_bench.api.functions import compare as compare
from nlac_bench.api.functions import evaluate as evaluate
from nlac_bench.api.functions import train as train
from nlac_bench.api.grading import grade as grade
from nlac_bench.api.runs import Run as Run
from nlac_bench.api.runs import load as load
from nlac_bench.envs.registry import make as make

__version__: str
