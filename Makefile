# Thin on purpose: each target is one or two commands that can also be typed by hand.
# docs/testing.md tells what each level tests.

.PHONY: test test-real soak bench demo lint docs

# Everything that needs no special packages.
test:
	cargo test

# Real machines through Vagrant, and wdev.exe under Wine. Installs what is missing (root, Debian).
test-real:
	settings=$$(tests/real/prepare) && \
	env $$settings WDEV_TEST_REAL=1 tests/real/run

# The same and the simulator with full counts of kills, seeds and repeats.
soak:
	settings=$$(WDEV_TEST_SOAK=1 tests/real/prepare) && \
	env $$settings WDEV_TEST_SOAK=1 cargo test --release && \
	env $$settings WDEV_TEST_REAL=1 WDEV_TEST_SOAK=1 tests/real/run --release -- --nocapture

# Prints figures and how they stand against their targets; never fails for being slow. What needs real
# machines is skipped, and said, where they cannot be made.
bench:
	settings=$$(tests/real/prepare || true) && env $$settings cargo bench --bench report

# A whole simulated sandbox at 60 times real speed, in a folder of its own.
demo:
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && cd "$$folder" && \
	WDEV_HOME="$$folder/home" cargo run --release --manifest-path "$(CURDIR)/Cargo.toml" -- \
	    up --cni calico --provider sim --sim-speed 60

lint:
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --test 'real_*' --test wine -- -D warnings
	tests/lint-scripts
	@if command -v cargo-deny >/dev/null; then cargo deny --offline check bans licenses sources; \
	else echo "lint: cargo-deny is not installed; tests/licences.rs checks the licences"; fi

# For contributors: wdev is a program, its library has no other readers.
docs:
	RUSTDOCFLAGS='-D warnings' cargo doc --no-deps --document-private-items
