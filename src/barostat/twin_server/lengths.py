"""Answer lengths: as requested, or drawn at random for a model that stops by itself."""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.errors import InputError
from barostat.twin.workload.random_streams import Dice


@dataclass(frozen=True, slots=True)
class OutputLengths:
    """Tokens after which a model would end by itself: log-normal with that mean and sigma.
    `mean_tokens` None: it never does.
    """

    mean_tokens: float | None = None
    sigma: float = 0.6

    def drawn(self, seed: int, prompt_digest: str, choice: int) -> int | None:
        """Return the length at which this response ends by itself; None: never. Deterministic for a
        prompt.
        """
        if self.mean_tokens is None:
            return None
        return max(
            1,
            round(
                Dice(seed, f"length/{prompt_digest}/{choice}").lognormal(
                    self.mean_tokens, self.sigma
                )
            ),
        )


def parse_lengths(text: str | None) -> OutputLengths:
    """The lengths that `MEAN` or `MEAN,SIGMA` names; None: as asked for.

    Errors: InputError.
    """
    if text is None:
        return OutputLengths()
    mean, _, sigma = text.partition(",")
    try:
        found = OutputLengths(float(mean), float(sigma or 0.6))
    except ValueError:
        found = OutputLengths(-1.0)
    if not 1 <= (found.mean_tokens or 0) <= 1e7 or not 0 <= found.sigma <= 4:
        raise InputError(
            "MEAN or MEAN,SIGMA was expected: tokens, and the spread of their logarithm",
            f"--output-tokens {text}",
        )
    return found
