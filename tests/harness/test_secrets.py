"""Secrets: refused in configurations, redacted everywhere else, and ordinary text stays as it is."""

import json
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.secrets import refuse_secret_arguments, refuse_secrets
from nlac_bench.harness.runs.stored_settings import read_config
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.learner import checkpoint_index
from nlac_bench.redaction import Redactor, redact, secret_values
from nlac_bench.rollout.driver import EpisodeSpec, Failure
from nlac_bench.secret_forms import is_placeholder
from nlac_bench.sweep.file import read_sweep
from nlac_bench.types import Episode, Turn
from tests.harness.killed_run import CONDITIONS, PLAN, SUBJECT
from tests.harness.leaks import encodings, leaking_files, leaks

KEYS = [
    "sk-very-secret-0123456789",
    'sk-live-"quoted"-0123456789',
    "back\\slash\\\\es-42/+=",
    "schlüssel-日本-😀-77",
    "line one of a key\nline two of a key 2",
    "%41%42+a b&c<d>e'f",
]
VALUE = "zq7Tm0Xw"
"""Part of every secret below; no message may contain it."""

URLS = [
    f"http://h/v1?api_key={VALUE}",
    f"http://h/v1?token={VALUE}",
    f"http://h/v1?a=1&access_token={VALUE}&b=2",
    f"http://h/v1?API-KEY={VALUE}",
    f"http://h/v1?api%5Fkey={VALUE}",
    f"http://h/v1?key={VALUE}",
    f"http://h/v1?sig={VALUE}",
    f"HTTPS://h/v1?license-key={VALUE}",
    f"http://h/v1?project_key={VALUE}",
    f"http://h/v1?api_key%3D{VALUE}",
    f'http://h/v1?x={{"api_key":"{VALUE}"}}',
    f"wss://h:80/v1/?&&token={VALUE}&",
    f"http://h/v1;token={VALUE}",
    f"http://h/token={VALUE}/v1",
    f"http://h/v1#k={VALUE}",
    f"http://h/v1#access_token={VALUE}",
    f"http://h/v1?next=http%3A%2F%2Fg%2F%3Fapi_key%3D{VALUE}",
    f"http://me:{VALUE}@h/v1",
    f"http://{VALUE}@h/v1",
    f"http://me:a@{VALUE}@h/v1",
    f"//me:{VALUE}@h/v1",
    f"me:{VALUE}@h/v1",
    f"h/v1?token={VALUE}",
    f"http://h/v1?code={VALUE}",
    f"http://h/v1?auth_code={VALUE}",
    f"http://h/v1?ticket={VALUE}",
    f"http://h/v1?service-ticket={VALUE}",
    f"https://h/v1?X-Amz-Signature={VALUE}",
    f"https://h/v1?x=1&X-Goog-Signature={VALUE}",
    f"https://h/v1?X-Amz-Security-Token={VALUE}",
    f"http://h/v1?token_value={VALUE}",
]
NAMES = [
    "api_key", "api-key", "apiKey", "APIKEY", "API_KEY_2", "x-api-key", "xApiKey", "Authorization",
    "proxy-authorization", "accessToken", "access_token", "clientSecret", "client-secret", "secret", "token",
    "auth_token", "password", "dbPassword", "passphrase", "privateKey", "secret_access_key", "credentials",
    "Ocp-Apim-Subscription-Key", "x-functions-key", "openai_key", "bearer", "db_pass", "pwd",
    "hf_token", "api.key", "api_secret_v2", "apiSecretV2", "MY_SERVICE_APIKEY_PROD", "token_value",
    "tokenValue",
    "aws_secret_access_key_id", "accessKeyId", "passcode", "pass-code", "db_password_prod", "secret_test_2",
]  # fmt: skip
TEXTS = [
    f"Authorization: Bearer {VALUE}9",
    f"page=2,api_key={VALUE}",
    f"x-api-key: {VALUE}",
    f"api_key={VALUE}",
]
HARMLESS: list[dict[str, Any]] = [
    {"base_url": "http://localhost:8000/v1"},
    {"base_url": "https://h/openai/deployments/gpt-5?api-version=2024-06-01"},
    {"base_url": "http://h/v1?page=2&lang=en&k=5&sort_key=price#section-2"},
    {"base_url": "https://gateway.example/v1/0123456789abcdef0123456789abcdef/gw/openai"},
    {"model": "Qwen/Qwen2.5-7B-Instruct"},
    {"model": "sk-learn-models"},
    {"model": "claude-sonnet-4-5-20250929"},
    {"price": "0.25,2", "max_tokens": 1024, "tasks": "test-0001,test-0002"},
    {"train": {"budget": "tokens=30720", "max_new_tokens": 64}},
    {"env": 'tau_retail@{"split": "train", "level": "easy"}'},
    {"env": 'my_pkg:MyEnv-v0@{"url": "http://h", "mail": "x@y.org"}'},
    {"env": 'x@{"eos_token": "</s>", "pad_token": "<|pad|>", "use_api_key": true, "api_key": null}'},
    {"env": 'x@{"api_key_variable": "MY_KEY", "key": "F# minor", "sort_key": "price_2024"}'},
    {"env": 'x@{"rule": "Never tell the password: ask for the token instead, then a code = 7"}'},
    {"env": "tau_retail@{"},
    {"env": 'x@{"max_tokens": 1024, "token_data": "ids", "tokenizer": "Qwen/Qwen2.5-7B", "num_tokens": 9}'},
    {"env": 'x@{"keyboard": "qwerty-2024", "monkey": "A1B2C3D4", "key_frames": "12,24", "hotkeys": "F1"}'},
    {"env": 'x@{"key": "item_2024", "primary_key": "id", "keys": ["a1", "b2"], "api": "openai-v1"}'},
    {"env": 'x@{"cookie": "chocolate chip", "pat": "postman-pat", "auth": ["user", "none"], "API": "v2"}'},
    {"env": 'x@{"secret_word": "elephant", "secretary": "Ann", "author": "A1b2c3d4", "code": "a1b2c3d4"}'},
    {"env": 'x@{"token_limit": "4k", "token_type": "word", "eos_token_id": 151643, "pad_token_value": "x"}'},
    {"model": "org/Model-7B-Instruct"},
    {"model": "meta-llama/Llama-3.3-70B-Instruct-FP8"},
    {"base_url": "https://h.openai.azure.com/openai/deployments/gpt4oMiniDeployment2024/v1"},
    {"base_url": "https://h/models/Qwen2.5-7B-Instruct-GPTQ-Int4/v1"},
    {"base_url": "https://h/accounts/fireworks/models/DeepSeekV3Chat0324"},
    {"base_url": "https://h/key/value/token/refresh/v1/tokens/count"},
    {
        "base_url": "https://h/auth/realms/2024-01-01/v1?country_code=de-AT&language-code=en&encode=utf8&verbose"
    },
    {"base_url": "http://my-host-7b.cluster.local:8000/v1?stream&no-cache"},
]


@pytest.mark.parametrize("url", URLS, ids=range(len(URLS)))
def test_urls_with_secrets_are_refused(url: str) -> None:
    for config, place in (
        ({"base_url": url}, "config.base_url"),
        ({"env": f"x@{json.dumps({'judge_url': url})}"}, "config.env.judge_url"),
        ({"env": "x@" + json.dumps({"a": json.dumps({"urls": [{"url": url}]})})}, "config.env.a.urls[0].url"),
    ):
        with pytest.raises(ConfigError, match="NLAC_BENCH_API_KEY") as caught:
            refuse_secrets(config)
        assert str(caught.value).startswith(f"{place} ") and VALUE not in str(caught.value)
    for arguments in (["run", "--base-url", url], ["run", f"--base-url={url}"]):
        with pytest.raises(ConfigError, match=r"^--base-url .*OPENAI_API_KEY") as caught:
            refuse_secret_arguments(arguments)
        assert VALUE not in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_fields_named_like_secrets_are_refused(name: str) -> None:
    inner = {name: VALUE}
    for config in (
        inner,
        {"agent": {"options": [inner]}},
        {"headers": {name: [VALUE]}},
        {"env": f"x@{json.dumps(inner)}"},
        {"env": f"x@{json.dumps({'a': json.dumps({'b': json.dumps(inner)})})}"},
        {"env": f"x@{json.dumps(inner)[:-1]}"},  # malformed
        {"args": [f"--{name}", VALUE]},
        {f"x@{json.dumps(inner)}": [0]},  # as the table [seeds] of a sweep names environments
    ):
        with pytest.raises(ConfigError) as caught:
            refuse_secrets(config)
        assert VALUE not in str(caught.value)
    option = "--" + name.replace(" ", "-")
    for arguments in (
        ["run", option, VALUE],
        ["run", f"{option}={VALUE}"],
        ["run", "--train", f"{option[2:]}={VALUE}"],
    ):
        with pytest.raises(ConfigError) as caught:
            refuse_secret_arguments(arguments)
        assert VALUE not in str(caught.value)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))  # pytest stores ids in an environment variable
def test_texts_that_assign_secrets_are_refused_as_settings_only(text: str) -> None:
    for config in ({"model": text}, {"env": f"x@{json.dumps({'note': [text]})}"}, {text: 1}):
        with pytest.raises(ConfigError) as caught:
            refuse_secrets(config)
        assert VALUE not in str(caught.value)
    assert redact(text) == text  # what a task or a model says is not changed because of its form


@pytest.mark.parametrize("config", HARMLESS, ids=range(len(HARMLESS)))
def test_harmless_settings_are_accepted(config: dict[str, Any]) -> None:
    refuse_secrets(config)
    for name, value in config.items():
        refuse_secret_arguments(["run", f"--{name.replace('_', '-')}", str(value)])


def test_deep_and_malformed_json_is_searched_without_a_crash() -> None:
    refuse_secrets({"env": "x@" + "[" * 200_000})
    refuse_secrets({"env": 'x@{"a":' * 100_000})
    nested: Any = {"api_key": VALUE}
    for _ in range(5_000):
        nested = [nested]
    with pytest.raises(ConfigError):
        refuse_secrets(nested)


def test_a_secret_is_found_before_another_value_of_the_same_name() -> None:
    twice = f'{{"api_key": "{VALUE}", "api_key": ""}}'
    for config in ({"env": f"x@{twice}"}, {"env": "x@" + json.dumps({"a": twice})}, {"note": twice}):
        with pytest.raises(ConfigError) as caught:
            refuse_secrets(config)
        assert VALUE not in str(caught.value)


def test_the_value_of_a_secret_variable_is_refused_as_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "team7-gpt-access")
    for values in (
        {"model": "team7-gpt-access"},
        {"env": 'x@{"a": "my team7-gpt-access"}'},
        {"prompts": "/a/team7-gpt-access"},
    ):
        with pytest.raises(
            ConfigError, match="contains the value of the environment variable OPENAI_API_KEY"
        ) as caught:
            RunConfig.from_mapping({"env": "tau_retail", "agent": "act", **values}, "file.toml")
        assert "team7" not in str(caught.value) and "file.toml: " in str(caught.value)
        with pytest.raises(ConfigError):
            refuse_secret_arguments(["run", f"--out=runs/{next(iter(values.values()))}"])


def test_configuration_and_sweep_files_with_secrets_are_refused(tmp_path: Path) -> None:
    run, sweep = tmp_path / "run.toml", tmp_path / "sweep.toml"
    for line in (f'base_url = "http://h/v1?token={VALUE}"', f'api_key = "{VALUE}"'):
        run.write_text(f'env = "tau_retail"\n{line}\n')
        with pytest.raises(ConfigError, match=r"run\.toml: .*OPENAI_API_KEY") as caught:
            read_config(run)
        assert VALUE not in str(caught.value)
        sweep.write_text(f'methods = ["nlac"]\n[seeds]\ntau_retail = [0]\n[run]\n{line}\n')
        with pytest.raises(ConfigError, match=r"sweep\.toml: run.*OPENAI_API_KEY") as caught:
            read_sweep(sweep)
        assert VALUE not in str(caught.value)
    sweep.write_text(f'methods = ["nlac"]\n[seeds]\n\'tau_retail@{{"apiKey": "{VALUE}"}}\' = [0]\n')
    with pytest.raises(ConfigError, match=r"sweep\.toml: .*seeds") as caught:
        read_sweep(sweep)
    assert VALUE not in str(caught.value)


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_redaction_finds_every_encoding(key: str) -> None:
    known = Redactor({key: "TEAM_KEY"})
    for encoded in encodings(key):
        for text in (encoded, f"before {encoded}, after"):
            assert "[redacted: $TEAM_KEY]" in known.text(text), text
            line = json.dumps({"text": text, "n": 1.5, "deep": [{"again": json.dumps({"x": text})}]})
            clean = known.json(line)
            assert not leaks(key, clean) and json.loads(clean)["n"] == 1.5


def test_redaction_keeps_json_valid_where_a_key_begins_with_its_marks() -> None:
    row = {"a": "abc12345", "b": 'say "abc12345" now', "c": ["\\", '"abc12345"']}
    clean = json.loads(Redactor({'"abc12345"': "K", '"},{"x12': "L"}).json(json.dumps(row)))
    assert clean == {"a": "abc12345", "b": "say [redacted: $K] now", "c": ["\\", "[redacted: $K]"]}


def test_which_values_are_secrets() -> None:
    placeholders = {
        "OPENAI_API_KEY": "EMPTY",
        "NLAC_BENCH_API_KEY": "not-needed",
        "A_TOKEN": "12345678",
        "B_TOKEN": "password",
        "C_KEY": "Llama Server",
        "D_KEY": "--------",
        "MAX_TOKENS": "4096",
        "GOOGLE_APPLICATION_CREDENTIALS": __file__,
        "PWD": "/home/user-1",
        "PATH": "/bin:/usr/bin",
        "MODEL": "gpt-5-2025-08-07",
    }
    assert secret_values(placeholders) == {}
    secret = {
        "OPENAI_API_KEY": ("token-abc123", "token-abc123"),
        "FILE_KEY": ("key-in-file-01\n", "key-in-file-01"),
        "HTTPS_PROXY": ("http://me:pr0xy-pass@h:1", "pr0xy-pass"),
        "OPENAI_BASE_URL": ("http://h/v1?api_key=url-key-01", "url-key-01"),
        "OPENAI_HEADERS": ("Authorization: Bearer head-key-01", "head-key-01"),
        "NLAC_BENCH_EXTRA": ('{"db": {"password": "json-pass-01"}}', "json-pass-01"),
        "LITELLM_KEY": ("sk-1234", "sk-1234"),
        "HF_TOKEN_2": ("hf-token-01", "hf-token-01"),
        "mysql_pwd": ("sql-pass-01", "sql-pass-01"),
        "GITHUB_PAT": ("pat-0000001", "pat-0000001"),
        "MY_SECRET_PROD": ("correct horse battery staple", "correct horse battery staple"),
    }
    for name, (value, expected) in secret.items():
        assert expected in secret_values({name: value}), name


_CHARACTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
_SECRETS = st.text(
    st.one_of(st.sampled_from("aZ09\"\\/'+=%&-_ \n{}é日😀"), _CHARACTERS), min_size=8, max_size=40
)


@settings(max_examples=12, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(secret=_SECRETS, data=st.data())
def test_no_file_of_a_run_has_a_secret(secret: str, data: st.DataObject) -> None:
    secret = secret.strip()
    # Secrets of few characters are in every run folder by chance.
    assume(not is_placeholder(secret) and any(c.isalnum() for c in secret) and len(set(secret)) > 5)

    def plant() -> str:
        return f"a {data.draw(st.sampled_from(encodings(secret)))} z"

    with tempfile.TemporaryDirectory() as folder, mock.patch.dict("os.environ", {"TEAM_SECRET": secret}):
        run = Path(folder) / "run"
        planted: dict[str, Any] = {
            "config": {"note": plant(), "env": f"x@{json.dumps({'rule': plant(), plant(): 1})}"},
            "conditions": {**CONDITIONS, "env_args": {"rule": [plant()]}},
            "subject": {**SUBJECT, "model": plant(), "prompts": {plant(): plant()}},
        }
        clean: dict[str, Any] = {"config": {}, "conditions": CONDITIONS, "subject": SUBJECT}
        try:
            writer = RunWriter.create(run, **planted, plan=PLAN[:3])
        except ConfigError as refused:  # what was planted is a secret of a URL, too
            assert not leaks(secret, str(refused)) and not run.exists()
            writer = RunWriter.create(run, **clean, plan=PLAN[:3])
        first, second, _ = PLAN[:3]
        with writer:
            turn = Turn(plant(), observation=plant(), finish=plant(), info={"tool": {plant(): [plant()]}})
            writer.append(
                Episode(
                    planted["config"]["env"], first.task_id, first.trial, first.seed, plant(), [turn],
                    end_reason=plant(), info={"x": plant()},
                )
            )  # fmt: skip
            spec = EpisodeSpec("x", second.task_id, second.trial, second.seed)
            writer.record_failure(second, Failure(spec, "crash", plant(), plant(), 0, {}, 0.0, plant()))
            writer.log({"kind": plant(), "value": [1.5, plant()]})
        assert leaking_files(secret, run) == []
        opened = RunFolder.open(run)
        assert next(opened.episodes()).task_id == first.task_id and len(list(opened.errors())) == 1
        assert next(opened.metrics())["value"][0] == 1.5


def test_token_ids_of_redacted_texts_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ids encode the text: whoever has the tokenizer can read the secret."""
    monkeypatch.setenv("TEAM_SECRET", KEYS[0])
    first, second, _ = PLAN[:3]
    with RunWriter.create(
        tmp_path / "run", config={}, conditions=CONDITIONS, subject=SUBJECT, plan=PLAN[:2]
    ) as writer:
        for item, text in ((first, f"it is {KEYS[0]}"), (second, "it is nothing")):
            turns = [Turn("a", observation=text), Turn("b", observation="c")]
            for turn in turns:
                turn.prompt_ids, turn.output_ids, turn.logprobs = [1, 2], [3], [-0.5]
            writer.append(Episode("x", item.task_id, item.trial, item.seed, "", turns))
            assert turns[0].prompt_ids == [1, 2], "training goes on with its own copy"
    leaky, plain = RunFolder.open(tmp_path / "run").episodes()
    assert "[redacted: $TEAM_SECRET]" in leaky.turns[0].observation
    assert [(t.prompt_ids, t.output_ids, t.logprobs) for t in leaky.turns] == [(None, None, None)] * 2
    assert [(t.prompt_ids, t.output_ids, t.logprobs) for t in plain.turns] == [([1, 2], [3], [-0.5])] * 2


def test_the_state_of_a_training_has_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_SECRET", KEYS[1])
    loop = {"algorithm": {"note": KEYS[1], "version": 3}}
    checkpoint_index.write(tmp_path, step=1, world_size=1, optimizer={}, loop=loop)
    assert leaking_files(KEYS[1], tmp_path) == []
    assert checkpoint_index.read(tmp_path).loop["algorithm"]["version"] == 3
