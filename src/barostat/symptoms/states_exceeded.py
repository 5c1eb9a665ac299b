"""max_num_seqs asks for more sequences than a hybrid model has state blocks for.

Meaning: models with Mamba or linear-attention layers keep one fixed-size state per running
sequence. The pool has fewer state blocks than max_num_seqs.

Impact: the replica never becomes ready.

Evidence: the start-up error that names max_num_seqs and the available state blocks.

Not evidence: a pool that is short of tokens: here the number of sequences is the limit, however
short they are.

Mitigation: set --max-num-seqs to the number in the message or less; or give the pool more memory.

Source: vLLM hybrid models, "max_num_seqs (A) exceeds available Mamba cache blocks (B)".
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "states-exceeded",
    "more sequences than state blocks",
    ("log_states_exceeded",),
    seen="max_num_seqs is larger than the number of state blocks",
    none="no complaint about state blocks",
)
