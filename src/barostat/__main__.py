"""`python -m barostat`: the same as `barostat`."""

from barostat.shells.cli.main import run

if __name__ == "__main__":
    run()
