"""Lists the sha256 of public data files, both as environments read them and as upstream publishes them."""

TAU_COMMIT = "59a200c6d575d595120f1cb70fea53cef0632f6b"

MATH = {
    "math500.jsonl": "f8ce3ff9512a2cb2046cec0b29bdbdba65f8961b31479141a09818b16d312092",
    "math_train.jsonl.gz": "1428cfca38ad56e97bce259e8a620e432c7add54d7c3c7a07cad138c2acf8dae",
}

MATH500_UPSTREAM = "35dc41080a3680858b27fa7e0533d2d547825316fc5dafe5d316f4ccc5a06132"
"""prm800k/math_splits/test.jsonl of openai/prm800k, with its solutions."""

TWENTY_QUESTIONS = {
    "things_objects.tsv": "286a56954e5c486edc200ac5f151dc7ced7238c790f0fef9be441e000fcd90c8",
    "oewn_things.jsonl.gz": "47b634bad2b1833bbef31dd6863558f3c591fea6d78631ab620bbfa70c594c14",
}

TAU = {
    "retail/users.json": "87019fb91125aee4121af5727e9f194f6a84598719b8d96d9eec14595dbbdb30",
    "retail/orders.json": "cbe3e1dba76ddf6aa063553fb59576f88a0178895ea5660652ec6963145c2630",
    "retail/products.json": "d863b7582e65e0297dfcc1721b52be4f3329bba72932ba2e4d9b36efed2fb154",
    "retail/tasks_test.json": "434f7698b5a00300941e2d8984edd237fe3ae3be06eb64016158f957a0dd1d04",
    "retail/tasks_dev.json": "8cfb7ac05090499c6fd550ff8c2b98e6b92c13b60988c85947044bbdfb2b8bf2",
    "retail/tasks_train.json": "c08c998d35034daa866055c5a0d27ae3fb2127594a8fb8659f7c3fa358a6c4f4",
    "retail/wiki.md": "d539fd2a46a8b8dd2e934ff9ed92f43e9f6b56bc7a718db8d2803ba8ad8f6bf7",
    "retail/rules.json": "83b6ab95beedae6f8c87451c65dda8efb6a895c811ea5a2573e37fb371624cd6",
    "retail/tools.json": "65aec34638a11915bb164c84957c86f35e6bbd44af6fb52113d57764d728c3eb",
    "airline/users.json": "df43804e326c22a40d62200b52483804b5bf6a2d3c3e35bb725e53fdb8fcf78b",
    "airline/flights.json": "48c3597a5af2310d89019a3617141bcfeef5ed441eff1339004555c90568c832",
    "airline/reservations.json": "622ad1086ab263d33f24d9349436911b977e8a9aade78b68f34f609df7dd4bd9",
    "airline/tasks_test.json": "937a288afa8caeba08eef7fac6806eb800a091a6b63acc8542fc28f6f4047053",
    "airline/wiki.md": "56c335801c16e26b54f600f9db99eb04d31db477e86eb160341d5c66b796c5c8",
    "airline/rules.json": "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945",
    "airline/tools.json": "fc463ee3dcbbf87cd24b4b7547d754c36c24df85cfbb2ae5943fd75e482e0e26",
}

# As published at TAU_COMMIT, under tau_bench/envs/. There is no file of the tool schemas: they are read from
# retail/tools/*.py and airline/tools/*.py.
TAU_UPSTREAM = {
    "retail/data/users.json": "6f4fd104cc5e80b92166c4035315c31532c6cea52a90dcdf18425ee7f87c2b82",
    "retail/data/orders.json": "2598a12586d28f2d6bd16bc86f4c800029b6af18e0abb5c475ef5c869c11ced1",
    "retail/data/products.json": "a9eabcc1a9742c5f5288c2779acce52b9308423383ed24706bbaf0889f762a0f",
    "retail/tasks_test.py": "6f09468923c6cfb6162e94fe659264d6aee70816c18d51278fb4a581db7765a4",
    "retail/tasks_dev.py": "87dfe578d0271e7b0b5dfb40621a5c0dcc0e8452a75b8f3f8d1dcf0abac4ff14",
    "retail/tasks_train.py": "30880ce4e8d524dd0fdd18c1d3a5713551fc8638e82673de3e0fd1ab70046c6f",
    "retail/wiki.md": "d539fd2a46a8b8dd2e934ff9ed92f43e9f6b56bc7a718db8d2803ba8ad8f6bf7",
    "retail/rules.py": "f4450639d5a21713953685e0a430b8cfd4f359db3fdd4de45ff228449b05c812",
    "airline/data/users.json": "bd264e2a31e0fa35cdfef8987e70a0dd3776828b582fe90e7a44823a12eb4cea",
    "airline/data/flights.json": "444d7565c68434a3e3fb72efd717f9f9cd5c56dce227f6f56e078f1cb0ed233a",
    "airline/data/reservations.json": "1cf0bbc58ad984be9de7c24dba6dd27393f94cdbd482d8524f6a54db1f561a8c",
    "airline/tasks_test.py": "14cdb6b4fe810faac9a0cc8395d3c7b32c883a979d1cde8c8003ae25a93d2ff3",
    "airline/wiki.md": "56c335801c16e26b54f600f9db99eb04d31db477e86eb160341d5c66b796c5c8",
    "airline/rules.py": "da3d5a5db6ddbf3d0071e5ece8d9297ccf89914ded93c8187043c5eecf58adfc",
}
