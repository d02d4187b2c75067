"""``python -m callslip``: the command, of this very interpreter."""

from callslip.cli.main import main

main()
