#!/usr/bin/env bash
# The reference results in `results/`: summaries, claims, optima and figures that git keeps of three
# experiments. Seeds are fixed, so that a run of the same spec makes the same files.
#
#   scripts/results.sh write          runs the experiments where they belong; needs chromium too,
#                                     for the picture of the page in the README
#   scripts/results.sh check FOLDER   runs them in FOLDER, and compares every file that git keeps
set -euo pipefail
cd "$(dirname "$0")/.."

program=target/release/balancelab
experiments=(series1 series2 power_of_two)

write() {
    local name
    for name in "${experiments[@]}"; do
        "$program" run "experiments/$name.yaml" --out "results/$name" --fresh
    done
    # The page as the README shows it.
    local profile
    profile=$(mktemp -d)
    chromium --headless=new --no-sandbox --disable-gpu --no-first-run --hide-scrollbars \
        --disable-background-networking --disable-component-update --disable-sync \
        --user-data-dir="$profile" --window-size=1200,1500 --screenshot="$PWD/results/report.png" \
        "file://$PWD/results/series2/report.html"
    rm -rf "$profile"
}

check() {
    local folder=$1 name file count=0 wrong=0
    for name in "${experiments[@]}"; do
        # What is there already was run just before.
        [ -e "$folder/$name/manifest.json" ] ||
            "$program" run "experiments/$name.yaml" --out "$folder/$name" --quiet
        while IFS= read -r file; do
            count=$((count + 1))
            if ! cmp -s "$file" "$folder/${file#results/}"; then
                echo "another than in a fresh run: $file"
                wrong=$((wrong + 1))
            fi
        done < <(git ls-files "results/$name")
    done
    echo "$((count - wrong)) of $count files in results/ are those of a fresh run"
    [ "$count" -gt 30 ] && [ "$wrong" -eq 0 ]
}

case "${1:-}" in
    write) write ;;
    check) check "${2:?a folder to run in}" ;;
    *)
        sed -n '2,/^set/p' "$0" | grep '^#' >&2
        exit 2
        ;;
esac
