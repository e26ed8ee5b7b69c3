"""``python -m tests.bench`` for time on TPC-H, on DuckDB; ``… postgres`` on PostgreSQL; ``… wire`` for the server; ``… ledger``;
``… small`` for what a statement costs beside its data; ``… year`` for a dashboard over data that grow;
``… regressions`` and ``… learning`` (logistic ones) beside other ways to learn them; ``… bars`` for how wide their bars are;
``… accounting`` for how many statements fit; ``… local`` for what it costs that people randomize their values themselves; ``… mechanisms`` for what each errs by;
``… large`` for how large data have to be; ``… subsampling`` for what samples of people would change; ``… workload`` for dashboards that are bought as one;
``… reconstruction`` for other estimates of these; ``… made_up`` for how near made-up rows are to real ones;
``… accuracy`` of counts, ``… statistics`` of means, quantiles and others; ``… tpch`` for all of TPC-H's queries;
``… spark`` for what Spark has to show; ``… walk`` for how long it takes from a clone to the first chart."""

import importlib
import sys

if len(sys.argv) > 1 and sys.argv[1] in (
    "wire",
    "postgres",
    "accuracy",
    "statistics",
    "ledger",
    "small",
    "year",
    "regressions",
    "bars",
    "learning",
    "accounting",
    "local",
    "mechanisms",
    "subsampling",
    "large",
    "workload",
    "made_up",
    "reconstruction",
    "walk",
):
    importlib.import_module(f".{sys.argv.pop(1)}", __package__).main()
elif len(sys.argv) > 1 and sys.argv[1] == "tpch":
    importlib.import_module(f".{sys.argv.pop(1)}.battery", __package__).main()
elif len(sys.argv) > 1 and sys.argv[1] == "spark":
    importlib.import_module(f".{sys.argv.pop(1)}.acceptance", __package__).main()
else:
    importlib.import_module(".run", __package__).main()
