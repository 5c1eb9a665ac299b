"""What a container takes out of ConfigMaps is what its arguments are filled in from; Secrets and
what is not there stay names.
"""

from __future__ import annotations

from typing import Any

from barostat.platform.pod_environment import with_references
from barostat.platform.pods import engine_container

MAPS = {
    "serving": {"data": {"MAX_NUM_SEQS": "60", "MODEL": "from-map", "1-odd": "x"}},
    "later": {"data": {"MAX_NUM_SEQS": "64"}},
}


def template(**container: Any) -> dict[str, Any]:
    words = ["serve", "$(MODEL)", "--max-num-seqs", "$(MAX_NUM_SEQS)"]
    return {
        "spec": {"containers": [{"name": "vllm", "command": ["vllm"], "args": words, **container}]}
    }


def arguments(found: Any) -> tuple[str, ...]:
    container = engine_container(with_references(found, MAPS))
    assert container is not None
    return container.args[2:]


def test_env_from_is_filled_in_the_later_overrules_and_what_is_written_overrules_both() -> None:
    sources = [
        {"configMapRef": {"name": "serving"}},
        {"configMapRef": {"name": "later"}},
        {"secretRef": {"name": "keys"}},
    ]
    found = template(envFrom=sources, env=[{"name": "MODEL", "value": "mine"}])
    assert arguments(found) == ("mine", "--max-num-seqs", "64")


def test_a_key_of_a_config_map_is_filled_in_and_a_secret_stays_a_name() -> None:
    key = {
        "name": "MAX_NUM_SEQS",
        "valueFrom": {"configMapKeyRef": {"name": "serving", "key": "MAX_NUM_SEQS"}},
    }
    secret = {"name": "MODEL", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "model"}}}
    assert arguments(template(env=[key, secret])) == ("$(MODEL)", "--max-num-seqs", "60")


def test_a_prefix_is_put_before_and_what_is_not_there_changes_nothing() -> None:
    found = template(envFrom=[{"prefix": "MAX_", "configMapRef": {"name": "seqs"}}])
    maps = {"seqs": {"data": {"NUM_SEQS": "12"}}}
    container = engine_container(with_references(found, maps))
    assert container is not None
    assert container.args[-1] == "12"
    assert arguments(found)[-1] == "$(MAX_NUM_SEQS)"
    plain = template()
    assert with_references(plain, maps) is plain
