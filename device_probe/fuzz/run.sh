#!/usr/bin/env bash
# Fuzzes every parser that reads from the network for SECONDS each (10 unless given), with a stable
# Rust and without cargo-fuzz: libFuzzer's own code comes with libfuzzer-sys, the coverage it needs
# from flags of rustc's LLVM. Usage: run.sh [SECONDS [TARGET...]]
#
# The flags are those that cargo-fuzz passes, but for the address sanitizer, which needs a nightly.
set -euo pipefail
cd "$(dirname "$0")"

seconds=${1:-10}
shift || true
out=$PWD/../../build/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for file in targets/*.rs; do targets+=("$(basename "$file" .rs)"); done
fi

# Its lock file is its own, since it is no member of the workspace, and lags when a dependency is added.
if ! refusal=$(cargo metadata --locked --format-version 1 2>&1 >/dev/null); then
  echo "$refusal" >&2
  echo "device_probe/fuzz/Cargo.lock may lag behind the workspace; refresh and commit it:" >&2
  echo "  cargo update --workspace --manifest-path device_probe/fuzz/Cargo.toml" >&2
  exit 5
fi

# Without --target, build scripts would get the flags too, and they have no libFuzzer to link to.
sancov=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
  -Cllvm-args=-sanitizer-coverage-trace-compares)
RUSTFLAGS="${sancov[*]} -Ccodegen-units=1" CARGO_TARGET_DIR=$out/target \
  cargo build --quiet --release --locked --target "$host" "${targets[@]/#/--bin=}"
# The seeds need no coverage, and would not link with it.
CARGO_TARGET_DIR=$out/target cargo run --quiet --locked --bin seeds -- "$out/seeds"
mkdir -p "$out/crashes"

# One target, as many seconds as were asked for; one line of what became of it.
fuzz() {
  local target=$1 log=$out/$1.log first last runs
  mkdir -p "$out/corpus/$target"
  # The corpus grows from run to run; the seeds come from the formats as they are now.
  if ! "$out/target/$host/release/$target" "$out/corpus/$target" "$out/seeds/$target" \
    -max_total_time="$seconds" -max_len=8192 -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$out/crashes/$target-" >"$log" 2>&1; then
    echo "$target: failed; the input is in build/fuzz/crashes, the log ends:" >&2
    tail -n 25 "$log" >&2
    return 1
  fi
  first=$(sed -n 's/.*INITED.* ft: \([0-9]*\).*/\1/p' "$log" | head -n1)
  last=$(sed -n 's/.* ft: \([0-9]*\).*/\1/p' "$log" | tail -n1)
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  echo "$target: $runs runs, features ${first:-0} -> ${last:-0}"
  # A parser has branches: a fuzzer that sees next to none is blind.
  if [ "${last:-0}" -lt 20 ]; then
    echo "$target: coverage is not measured" >&2
    return 1
  fi
}
export -f fuzz
export out host seconds

# As many at a time as there are cores; xargs says by its exit code whether one failed.
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I '{}' bash -euo pipefail -c 'fuzz {}'
