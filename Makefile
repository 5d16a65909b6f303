# Thin on purpose: what each target does stands in scripts/.

.PHONY: help demo catalogue build check test bench method setup clean

help:
	@echo "make demo    install what is missing, build, run VDO against the plain disk in the lab, make the page"
	@echo "make catalogue  the same for every experiment that comes with Fathom, into catalogue/; takes hours"
	@echo "make build   install what is missing, build the program"
	@echo "make test    install what is missing, run every check and test"
	@echo "make check   the same without tests that start a guest, in minutes: for before each commit"
	@echo "make bench   build, measure Fathom itself"
	@echo "make method  build, make the tables of docs/method.md anew from simulations; takes minutes"
	@echo "make setup   only install what is missing"
	@echo "make clean   remove what was built; results and installed packages stay"

demo:
	@scripts/demo.sh

catalogue:
	@scripts/catalogue.sh

build:
	@scripts/build.sh

check:
	@scripts/check.sh

test:
	@scripts/test.sh

bench:
	@scripts/bench.sh

method:
	@scripts/method.sh

setup:
	@scripts/setup.sh build lab

clean:
	@scripts/clean.sh
