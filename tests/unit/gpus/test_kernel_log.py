"""Kernel logs: a broken card, a program's fault, memory that ran out, and what looks bad and is
not.
"""

# ruff: noqa: E501 (log lines as they are printed)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.catalog.gpu_faults import XID_OF_APPLICATIONS
from barostat.catalog.xid import XIDS, xid
from barostat.gpus.kernel_log import digest

AT = 1_795_004_800.0  # 2026-11-18 12:26:40 UTC


def values(*lines: str) -> dict[str, float]:
    return {
        name: made.last
        for name, made in digest(lines, source="node.kernel.log").signals(AT).items()
        if made.last
    }


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.",
        "[12345.678901] NVRM: Xid (PCI:0000:3b:00): 48, pid='<unknown>', name=<unknown>, DBE (double bit error)",
        "Nov 18 10:00:00 node kernel: NVRM: Xid (PCI:0000:01:00): 95, pid=7, name=VLLM::EngineCor, Uncontained",
        "[Wed Nov 18 10:00:00 2026] NVRM: Xid (PCI:0000:cb:00): 119, pid=1, Timeout after 6s of waiting for RPC response from GPU0 GSP!",
        "2026-11-18T10:00:00,123+00:00 node kernel: NVRM: Xid (0000:03:00): 74, NVLink: fatal error",
        "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
        "NVRM: Xid (PCI:0000:01:00): 64, pid='<unknown>', Row Remapper: unable to record",
        "Warning  GpuXid  node/gpu-7  XID error 140 on GPU 3",
        "kernel: NVRM: Xid (PCI:0000:1b:00): 45, pid=77, name=python3, Ch 00000009 caused by previous Xid 145",
        "NVRM: Xid (PCI:0000:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x026001c6 0x00000000)",
        "Xid 48: uncorrectable double-bit ECC in HBM, the same bank as yesterday",
    ],
)
def test_a_broken_card(line: str) -> None:
    assert values(line) == {"kernel_xid_fatal": 1.0}


@pytest.mark.parametrize("code", sorted(XID_OF_APPLICATIONS))
def test_a_programs_fault_is_not_the_cards(code: int) -> None:
    assert values(f"NVRM: Xid (PCI:0000:3b:00): {code}, pid=1234, name=python3, Ch 00000008") == {
        "kernel_xid_software": 1.0
    }
    assert XIDS[code].kind == "application"


def test_the_two_catalogues_agree() -> None:
    assert {
        code for code, found in XIDS.items() if found.kind == "application"
    } >= XID_OF_APPLICATIONS
    assert not {code for code, found in XIDS.items() if found.kind == "fatal"} & XID_OF_APPLICATIONS


def test_a_fault_beside_a_broken_memory_on_the_same_card_is_its_consequence() -> None:
    broken = "NVRM: Xid (PCI:0000:3b:00): 94, pid=1, Contained: SRAM"
    assert values("NVRM: Xid (PCI:0000:3b:00): 31, pid=1, MMU Fault", broken) == {
        "kernel_xid_fatal": 1.0
    }
    assert values("NVRM: Xid (PCI:0000:5e:00): 31, pid=1, MMU Fault", broken) == {
        "kernel_xid_fatal": 1.0,
        "kernel_xid_software": 1.0,
    }


def test_a_pending_repair_and_a_recovery_action_of_none_break_nothing() -> None:
    found = digest(
        [
            "NVRM: Xid (PCI:0000:3b:00): 63, pid='<unknown>', Row Remapper: New row marked for remapping, reset gpu to activate."
        ],
        source="x",
    )
    assert found.pending == (63,)
    assert not found.events
    assert (
        xid(154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)").kind
        == "unclear"
    )
    assert (
        xid(154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)").kind
        == "fatal"
    )
    assert digest(["NVRM: Xid (PCI:0000:3b:00): 999, what"], source="x").unclear == (999,)


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: _kgspRpcRecvPoll: GSP RM heartbeat timed out",
        "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x55:2477)",
        "amdgpu 0000:08:00.0: amdgpu: GPU reset begin!",
        "amdgpu 0000:08:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=13441142, emitted seq=13441144",
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring sdma0 timeout, signaled seq=16060, emitted seq=16062",
        "amdgpu 0000:c1:00.0: amdgpu: 3 uncorrectable hardware errors detected in umc block",
        "nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
        "nvidia-nvswitch2: SXid (PCI:0000:a9:00.0): 24007, Severity 1 Engine instance 03 Sub-engine instance 00",
        "               NVRM: fallen off the bus and is not responding to commands.",
    ],
)
def test_other_words_of_a_lost_or_hung_card(line: str) -> None:
    assert values(line) == {"kernel_gpu_error": 1.0}


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051) returned from _memdescAllocInternal(pMemDesc)",
        "amdgpu 0000:0a:00.0: amdgpu: ring comp_1.0.1 uses VM inv eng 8 on hub 0",
        "amdgpu 0000:0a:00.0: amdgpu: RAS: optional ras ta ucode is not available",
        "nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
        "nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 28006, Severity 0 Engine instance 46 Sub-engine instance 00",
        "NVRM: Xid (PCI:0000:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008)",
        "usb 1-1: new high-speed USB device number 79",
    ],
)
def test_what_looks_bad_and_is_not(line: str) -> None:
    assert values(line) == {}


def test_a_page_fault_of_a_program_on_an_amd_card_is_software() -> None:
    assert values(
        "amdgpu 0000:65:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:200)"
    ) == {"kernel_xid_software": 1.0}


def test_one_kill_told_twice_is_one_kill_and_has_a_name() -> None:
    lines = [
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,task=VLLM::EngineCor,pid=4242,uid=0",
        "Memory cgroup out of memory: Killed process 4242 (VLLM::EngineCor) total-vm:100kB, anon-rss:1kB",
        "Out of memory: Killed process 17 (python3) total-vm:100kB",
    ]
    found = digest(lines, source="x").signals(AT)["kernel_oom_kill"]
    assert found.last == 2
    assert "VLLM::EngineCor" in found.detail
    assert values(
        'earlyoom[811]: sending SIGKILL to process 4711 uid 1000 "VLLM::EngineCor": badness 912'
    ) == {"kernel_oom_kill": 1.0}
    assert values(
        "systemd-oomd[702]: Killed /user.slice/a.scope due to memory pressure for /user.slice"
    ) == {"kernel_oom_kill": 1.0}
    assert (
        values("systemd-oomd[702]: Considered 97 cgroups for killing, top candidates were:") == {}
    )
    assert values("System OOM encountered, victim process: python3, pid: 99") == {
        "kernel_oom_kill": 1.0
    }


def test_what_a_reboot_may_have_mended_does_not_count() -> None:
    fatal = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    assert values(fatal, "[    0.000000] Linux version 6.8.0-45-generic (build@host)") == {}
    assert values("[    0.000000] Linux version 6.8.0-45-generic (build@host)", fatal) == {
        "kernel_xid_fatal": 1.0
    }


@pytest.mark.parametrize(
    ("stamp", "last_stamp", "age_s"),
    [
        ("[Wed Nov 18 12:00:00 2026]", "[Wed Nov 18 12:10:00 2026]", 1600),
        ("Nov 18 12:00:00 node kernel:", "Nov 18 12:10:00 node kernel:", 1600),
        ("Dec 18 12:00:00 node kernel:", "Nov 18 12:10:00 node kernel:", 1600 + 335 * 86_400),
        ("2026-11-18T12:00:00+0000", "2026-11-18T12:10:00+0000", 1600),
        ("2026-11-18T14:00:00,123456+02:00", "2026-11-18T14:10:00,000000+02:00", 1600),
        ("2026-11-18T06:30:00.123456-0530", "2026-11-18T12:10:00Z", 1600),
        ("[ 1000.000000]", "[ 1600.500000]", 600.5),
    ],
)
def test_times_of_every_form(stamp: str, last_stamp: str, age_s: float) -> None:
    found = digest(
        [f"{stamp} NVRM: Xid (PCI:0000:3b:00): 79, lost", f"{last_stamp} nothing"], source="x"
    ).signals(AT)["kernel_xid_fatal"]
    assert pytest.approx(age_s) == AT - found.at


def test_the_detail_names_the_code_for_a_person() -> None:
    detail = (
        digest(["NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus."], source="x")
        .signals(AT)["kernel_xid_fatal"]
        .detail
    )
    assert detail.startswith("Xid 79: GPU has fallen off the bus")


@given(st.binary(max_size=2000))
def test_any_bytes_are_read_without_an_error(blob: bytes) -> None:
    found = digest(blob.decode("utf-8", errors="replace").split("\n"), source="x").signals(AT)
    assert set(found) == {
        "kernel_xid_fatal",
        "kernel_xid_software",
        "kernel_oom_kill",
        "kernel_gpu_error",
    }


_PIECES = st.sampled_from(
    [
        "NVRM: Xid (PCI:",
        "0000:3b:00",
        "): ",
        "79",
        "99999",
        ",",
        "[Wed Foo 99 99:99:99 2026]",
        "Feb 31 10:00:00",
        "9999-99-99T99:99:99",
        "\0",
        "amdgpu ",
        "page fault",
        " 154 changed from ",
        "oom-kill:task=",
        ",pid=",
    ]
)


@given(st.lists(st.lists(_PIECES, max_size=6).map("".join), max_size=10))
def test_torn_lines_are_read_without_an_error(lines: list[str]) -> None:
    assert all(made.at <= AT for made in digest(lines, source="x").signals(AT).values())
