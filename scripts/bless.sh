#!/usr/bin/env bash
# Renews the golden files in tests/it/snapshots/ and shows what changed, for a reviewer to read.
# A renewed file is right only if its difference is: look at it before it is committed.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
INSTA_UPDATE=always cargo test --release || status=$?

git ls-files --others --exclude-standard -- tests/it/snapshots | sed 's/^/new: /'
git --no-pager diff --stat -- tests/it/snapshots
exit "$status"
