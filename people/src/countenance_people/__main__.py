"""`python -m countenance_people`: the command line where nothing is installed."""

from countenance_people.cli import main

main()
