"""The change of a plan, made in the line of a checkout that the live value comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.core.change import ConfigChange
from barostat.core.errors import InputError
from barostat.shells.cli.mitigate.write_source import source_edit

CHANGE = ConfigChange("argument", "--max-num-seqs", "64", "16")
PLAIN = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}   # the chat model
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.32.0
          args:
            - --model=org/m
            - "--max-num-seqs=64"   # measured in May
            - --max-model-len=4096
          env:
            - {name: VLLM_LOGGING_LEVEL, value: 'INFO'}
"""
OTHER = PLAIN.replace("name: chat}", "name: other}")


def _folder(tmp_path: Path, **files: str) -> str:
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/").replace("_yaml", ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(tmp_path)


def test_plain_yaml_keeps_comments_and_quotes(tmp_path: Path) -> None:
    folder = _folder(tmp_path, chat_yaml=PLAIN, other_yaml=OTHER)
    made = source_edit(folder, "Deployment", "chat", CHANGE)
    assert made.file.name == "chat.yaml"
    assert made.text == PLAIN.replace("seqs=64", "seqs=16")
    assert '-            - "--max-num-seqs=64"   # measured in May' in made.diff
    assert (tmp_path / "chat.yaml").read_text() == PLAIN


def test_a_variable_is_changed_in_its_entry(tmp_path: Path) -> None:
    change = ConfigChange("environment", "VLLM_LOGGING_LEVEL", "INFO", "DEBUG")
    made = source_edit(_folder(tmp_path, chat_yaml=PLAIN), "Deployment", "chat", change)
    assert made.text == PLAIN.replace("'INFO'", "'DEBUG'")


def test_a_kustomize_patch_is_changed_and_not_its_base(tmp_path: Path) -> None:
    patch = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
spec:
  template:
    spec:
      containers:
        - name: vllm
          args: ["--model=org/m", "--max-num-seqs", "64"]  # this cluster's
"""
    base = PLAIN.replace("seqs=64", "seqs=128")
    folder = _folder(
        tmp_path,
        base__chat_yaml=base,
        base__kustomization_yaml="resources: [chat.yaml]\n",
        east__patch_yaml=patch,
        east__kustomization_yaml="resources: [../base]\npatches: [{path: patch.yaml}]\n",
    )
    made = source_edit(f"{folder}/east", "Deployment", "chat", CHANGE)
    assert made.file.name == "patch.yaml"
    assert made.text == patch.replace('"64"', '"16"')


def test_helm_values_of_the_production_stack(tmp_path: Path) -> None:
    values = """\
servingEngineSpec:
  modelSpec:
    - name: chat           # the name in the Deployment's
      repository: vllm/vllm-openai
      tag: v0.32.0
      modelURL: org/m
      vllmConfig:
        maxNumSeqs: 64     # tuned
        maxModelLen: 4096
"""
    folder = _folder(tmp_path, values_yaml=values)
    made = source_edit(folder, "Deployment", "prod-chat-deployment-vllm", CHANGE)
    assert made.text == values.replace("maxNumSeqs: 64 ", "maxNumSeqs: 16 ")


def test_what_is_not_there_or_there_twice_is_said(tmp_path: Path) -> None:
    folder = _folder(tmp_path, chat_yaml=PLAIN)
    with pytest.raises(InputError, match="declares no engine of Deployment gone"):
        source_edit(folder, "Deployment", "gone", CHANGE)
    absent = ConfigChange("argument", "--watermark", None, "0.05")
    with pytest.raises(InputError, match=r"add --watermark 0\.05"):
        source_edit(folder, "Deployment", "chat", absent)
    _folder(tmp_path, again_yaml=PLAIN)
    with pytest.raises(InputError, match=r"again.yaml, .*chat.yaml: name one"):
        source_edit(folder, "Deployment", "chat", CHANGE)


SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: chat-settings}
data:
  SEQS: "64"     # measured in May
  LEVEL: 'INFO'
"""
BY_KEY = """\
          env:
            - name: SEQS
              valueFrom: {configMapKeyRef: {name: chat-settings, key: SEQS}}
            - name: VLLM_LOGGING_LEVEL
              valueFrom: {configMapKeyRef: {name: chat-settings, key: LEVEL}}
"""
WHOLE = """\
          envFrom: [{configMapRef: {name: chat-settings}}]
"""
REFERRING = PLAIN.partition("          env:")[0]


@pytest.mark.parametrize("taken", [BY_KEY, WHOLE], ids=["by key", "whole"])
def test_a_value_that_a_config_map_supplies_is_changed_there(tmp_path: Path, taken: str) -> None:
    chat = REFERRING.replace("seqs=64", "seqs=$(SEQS)") + taken
    folder = _folder(tmp_path, chat_yaml=chat, settings_yaml=SETTINGS)
    made = source_edit(folder, "Deployment", "chat", CHANGE)
    assert made.file.name == "settings.yaml"
    assert made.text == SETTINGS.replace('"64"', '"16"')


def test_a_variable_that_a_config_map_supplies_is_changed_there(tmp_path: Path) -> None:
    folder = _folder(tmp_path, chat_yaml=REFERRING + BY_KEY, settings_yaml=SETTINGS)
    change = ConfigChange("environment", "VLLM_LOGGING_LEVEL", "INFO", "DEBUG")
    made = source_edit(folder, "Deployment", "chat", change)
    assert made.file.name == "settings.yaml"
    assert made.text == SETTINGS.replace("'INFO'", "'DEBUG'")


def test_a_variable_in_the_text_of_a_shell_is_set_by_hand(tmp_path: Path) -> None:
    started = """\
          command: [sh, -c]
          args: ["exec vllm serve org/m --max-num-seqs ${SEQS:-64}"]
"""
    head = REFERRING.partition("          args:")[0]
    folder = _folder(tmp_path, chat_yaml=head + started + WHOLE, settings_yaml=SETTINGS)
    with pytest.raises(InputError, match=r"line 11: .*not written there as one plain value"):
        source_edit(folder, "Deployment", "chat", CHANGE)


def test_a_value_made_of_two_variables_is_set_by_hand(tmp_path: Path) -> None:
    chat = REFERRING.replace("seqs=64", "seqs=$(TENS)$(ONES)") + WHOLE
    settings = SETTINGS.replace('SEQS: "64"', 'TENS: "6"\n  ONES: "4"')
    folder = _folder(tmp_path, chat_yaml=chat, settings_yaml=settings)
    with pytest.raises(InputError, match="not written there as one plain value"):
        source_edit(folder, "Deployment", "chat", CHANGE)
