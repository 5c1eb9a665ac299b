"""The plain nvidia-smi table of several driver branches."""

from __future__ import annotations

from barostat.gpus import read
from barostat.gpus.card import MIB

NEW = """\
Sat Nov 21 09:14:02 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H200                    On  |   00000000:19:00.0 Off |                    0 |
| N/A   41C    P0            312W /  700W |  131072MiB / 143771MiB |     97%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H200                    On  |   00000000:3B:00.0 Off |                    3 |
| N/A   88C    P0            700W /  700W |  130000MiB / 143771MiB |      3%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A            4711      C   VLLM::Worker_TP0                      130000MiB |
|    1   N/A  N/A            4712      C   VLLM::Worker_TP1                       90000MiB |
|    1   N/A  N/A            9001      C   .../envs/train/bin/python3.11          39000MiB |
+-----------------------------------------------------------------------------------------+
"""

OLD = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.161.03   Driver Version: 470.161.03   CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   0  Tesla V100-SXM2...  On   | 00000000:00:1E.0 Off |                    0 |
| N/A   39C    P0    52W / 300W |  15109MiB / 16160MiB |      0%      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|  GPU       PID   Type   Process name                             Usage      |
|=============================================================================|
|    0      1234      C   python3                                    15101MiB |
+-----------------------------------------------------------------------------+
"""


def test_the_new_layout() -> None:
    output = read("nvidia-smi.txt", NEW)
    assert output.problems == ()
    first, second = output.cards
    assert (first.name, first.temperature_c, first.utilization_ratio, first.ecc_uncorrected) == (
        "NVIDIA H200",
        41,
        0.97,
        0,
    )
    assert (first.memory_used_bytes, first.memory_total_bytes) == (131072 * MIB, 143771 * MIB)
    assert (second.index, second.power_ratio, second.ecc_uncorrected) == (1, 1.0, 3)
    assert second.processes is not None
    assert [(process.pid, process.name, process.memory_bytes) for process in second.processes] == [
        (4712, "VLLM::Worker_TP1", 90000 * MIB),
        (9001, ".../envs/train/bin/python3.11", 39000 * MIB),
    ]


def test_the_old_layout() -> None:
    (card,) = read("nvidia-smi.txt", OLD).cards
    assert (card.name, card.memory_used_bytes, card.temperature_c) == (
        "Tesla V100-SXM2...",
        15109 * MIB,
        39,
    )
    assert card.processes is not None
    assert (card.processes[0].pid, card.processes[0].name) == (1234, "python3")


def test_a_container_sees_no_processes() -> None:
    head = NEW[: NEW.index("|    0   N/A  N/A            4711")]
    first, _ = read(
        "nvidia-smi.txt",
        head + "|  No running processes found                                     |\n+---+\n",
    ).cards
    assert first.processes == ()


def test_a_process_without_memory() -> None:
    text = OLD.replace("15101MiB |", "     N/A |")
    (card,) = read("nvidia-smi.txt", text).cards
    assert card.processes is not None
    assert card.processes[0].memory_bytes is None
    assert card.processes[0].name == "python3"


def test_mig_slices_replace_their_card() -> None:
    mig = """\
+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|        Shared         |
|      ID  ID  Dev |                       BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |
|==================+==================================+===========+=======================|
|  0    1   0   0  |           19000MiB / 20096MiB    | 42      0 |  3   0    2    0    0 |
|                  |               2MiB / 32767MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  0    2   0   1  |              11MiB / 20096MiB    | 42      0 |  3   0    2    0    0 |
+------------------+----------------------------------+-----------+-----------------------+
"""
    text = (
        NEW[: NEW.index("|   1  NVIDIA")]
        + "\n"
        + mig
        + (
            "\n| Processes:  |\n|    0    1    0            4711      C   VLLM::EngineCore     "
            " 18900MiB |\n+--+\n"
        )
    )
    first, second = read("nvidia-smi.txt", text).cards
    assert (first.name, first.memory_used_bytes, first.memory_total_bytes) == (
        "NVIDIA H200 MIG 1/0",
        19000 * MIB,
        20096 * MIB,
    )
    assert first.processes is not None
    assert first.processes[0].pid == 4711
    assert second.processes == ()


def test_errors_in_the_readings_mean_a_lost_card() -> None:
    text = OLD.replace("| N/A   39C    P0    52W / 300W |", "|ERR!  ERR! ERR!    ERR! / 300W |")
    (card,) = read("nvidia-smi.txt", text).cards
    assert card.lost
    assert "ERR!" in card.note


def test_a_broken_fan_alone_is_not_a_lost_card() -> None:
    text = OLD.replace("| N/A   39C    P0    52W / 300W |", "|ERR!   39C    P0    52W / 300W |")
    assert not read("nvidia-smi.txt", text).cards[0].lost


def test_a_unified_memory_card_is_not_lost() -> None:
    text = OLD.replace("|  15109MiB / 16160MiB |", "|    Not Supported     |")
    (card,) = read("nvidia-smi.txt", text).cards
    assert not card.lost
    assert card.memory_used_bytes is None


def test_a_card_without_a_handle_is_lost() -> None:
    (card,) = read(
        "nvidia-smi.txt",
        "Unable to determine the device handle for GPU 0000:41:00.0: Unknown Error\n",
    ).cards
    assert (card.lost, card.name) == (True, "0000:41:00.0")


def test_no_table_is_a_problem() -> None:
    assert "no card" in read("nvidia-smi.txt", "hello\n").problems[0]
    assert (
        "nvidia-smi failed"
        in read(
            "nvidia-smi.txt", "Failed to initialize NVML: Driver/library version mismatch\n"
        ).problems[0]
    )


def test_a_card_whose_system_processor_hangs_is_lost() -> None:
    text = OLD.replace(
        "| N/A   39C    P0    52W / 300W |", "| N/A   57C   N/A    N/A / 300W |"
    ).replace("|      0%      Default |", "|     N/A      Default |")
    (card,) = read("nvidia-smi.txt", text).cards
    assert (card.lost, card.temperature_c) == (True, 57)
    assert "GSP" in card.note


def test_a_module_without_a_bus_is_not_lost() -> None:
    text = OLD.replace(
        "00000000:00:1E.0 Off |                    0 |",
        "N/A              N/A |                  N/A |",
    )
    text = text.replace(
        "| N/A   39C    P0    52W / 300W |  15109MiB / 16160MiB |      0%",
        "| N/A   N/A  N/A    N/A / N/A  | Not Supported        |     N/A",
    )
    (card,) = read("nvidia-smi.txt", text).cards
    assert (card.lost, card.ecc_uncorrected) == (False, None)


def test_the_table_under_the_querys_name_and_the_other_way_round() -> None:
    assert len(read("nvidia-smi.csv", NEW).cards) == 2
    assert (
        len(
            read(
                "nvidia-smi.txt", "NVIDIA L4, 20000 MiB, 23034 MiB, 0x0000000000000004, 70, 0"
            ).cards
        )
        == 1
    )


def test_a_loop_shows_the_last_table() -> None:
    later = NEW.replace("|     97%      Default |", "|     11%      Default |").replace(
        "VLLM::Worker_TP0", "VLLM::Worker_TP7"
    )
    first, second = read("nvidia-smi.txt", NEW + later).cards
    assert first.utilization_ratio == 0.11
    assert first.processes is not None
    assert [process.name for process in first.processes] == ["VLLM::Worker_TP7"]
    assert second.processes is not None
    assert len(second.processes) == 2


def test_an_index_of_thousands_of_digits_is_no_card() -> None:
    assert (
        read(
            "nvidia-smi.txt",
            "| NVIDIA-SMI 550 |\n| Processes: |\n|  "
            + "9" * 5000
            + "   N/A  N/A   123    C   python   7MiB |\n",
        ).cards
        == ()
    )
