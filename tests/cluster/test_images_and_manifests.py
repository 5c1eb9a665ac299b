"""What can be told of images and manifests without a cluster."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

from dev.cluster import binaries, images, workloads
from dev.cluster.layout import KUBERNETES_VERSION


def test_every_blob_of_an_archive_has_the_name_of_its_digest(tmp_path: Path) -> None:
    image = images.Image("registry.example/tool:1", ["/tool"], {"A": "b"})
    images.write_archive(image, tmp_path / "one.tar")
    images.write_archive(image, tmp_path / "two.tar")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    with tarfile.open(tmp_path / "one.tar") as archive:
        blobs = {name: _content(archive, name) for name in archive.getnames()}
    index = json.loads(blobs["index.json"])["manifests"][0]
    assert index["annotations"]["io.containerd.image.name"] == "registry.example/tool:1"
    manifest = json.loads(blobs["blobs/sha256/" + index["digest"].removeprefix("sha256:")])
    configuration = json.loads(
        blobs["blobs/sha256/" + manifest["config"]["digest"].removeprefix("sha256:")]
    )
    assert configuration["config"] == {"Entrypoint": ["/tool"], "Env": ["A=b"], "WorkingDir": "/"}
    for name, content in blobs.items():
        if name.startswith("blobs/"):
            assert name.rsplit("/", 1)[1] == hashlib.sha256(content).hexdigest()


def test_the_manifest_takes_its_parameters_and_leaves_the_file_alone() -> None:
    changed = workloads.only(
        workloads.vllm(
            "other", replicas=3, flags=["--max-num-seqs", "8"], memory="700Mi", shm=None
        ),
        "Deployment",
    )
    pod = changed["spec"]["template"]["spec"]
    assert changed["spec"]["replicas"] == 3
    assert pod["containers"][0]["args"] == [*workloads.MODEL_FLAGS, "--max-num-seqs", "8"]
    assert pod["containers"][0]["resources"] == {
        "requests": {"cpu": "250m", "memory": "700Mi"},
        "limits": {"memory": "700Mi", "nvidia.com/gpu": "1"},
    }
    assert "volumes" not in pod
    deployment, service = workloads.vllm()
    assert deployment["spec"]["template"]["spec"]["volumes"][0]["emptyDir"] == {
        "medium": "Memory",
        "sizeLimit": "1Gi",
    }
    assert (
        service["spec"]["selector"]
        == deployment["spec"]["selector"]["matchLabels"]
        == {"app": "vllm"}
    )


def test_the_folder_of_the_binaries_names_the_version_and_the_recipe() -> None:
    assert binaries.folder().name.startswith(f"cluster-{KUBERNETES_VERSION}-")
    assert binaries.folder() == binaries.folder()


def _content(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    assert file is not None
    return file.read()
