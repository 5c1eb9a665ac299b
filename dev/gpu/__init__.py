"""`make gpu`: what a machine with a card is asked once, in 25 minutes: start-ups, step times,
states, a forecast tried, the demo.

    here.py        the cards, the vLLM, and how an engine of it is started        cards.py, vllm.py, card_engine.py, models.py
    book.py        the run-book: what is measured, in which order                  item.py: what all of it has in common
    run.py         one item after the other, within the minutes                    fitting.py: what is left out here, and why
    journal.py     dated files under bench/gpu/, written at once and gone on with  summary.py: what came of it, for a person

An item's kind is a file: startup.py, pace.py, state.py, forecast.py, demonstration.py. What they
write is read by bench/sizing_public.py and bench/pace.py.
"""
