#!/usr/bin/env bash
# Puts containerd of a newer Debian suite into DIR (default .cache/containerd): containerd, its shim and ctr, if they run here. Prints DIR.
# Idempotent; the system's package sources stay as they are. Needs apt-get and dpkg, no root.
set -euo pipefail
dir=${1:-"$(cd "$(dirname "$0")/.." && pwd)/.cache/containerd"}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
[ -x "$dir/containerd" ] && { echo "$dir"; exit 0; }
mirror=$( { sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null || true; } | { grep debian || true; } | { grep -v security || true; } | head -1 | awk '{print $1}')
mirror=${mirror:-http://deb.debian.org/debian}

# fetch SUITE: downloads the suite's containerd and keeps its programs when they run here
fetch() {
  local suite=$1 work
  work=$(mktemp -d)
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/etc/preferences.d" "$work/out"
  : >"$work/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$work/sources.list"
  local options=(-o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/lists" -o "Dir::State::status=$work/status"
    -o "Dir::Cache=$work/cache" -o "Dir::Etc::preferencesparts=$work/etc/preferences.d" -o APT::Sandbox::User= -o Acquire::Languages=none)
  apt-get "${options[@]}" -qq update || true
  if (cd "$work/out" && apt-get "${options[@]}" -qq download containerd 2>/dev/null); then
    dpkg -x "$work"/out/*.deb "$work/root"
    if "$work/root/usr/bin/containerd" --version >/dev/null 2>&1; then
      install -m 755 "$work"/root/usr/bin/* "$dir/"
    fi
  fi
  rm -rf "$work"
  [ -x "$dir/containerd" ]
}

for suite in sid testing trixie; do
  if fetch "$suite"; then break; fi
done
[ -x "$dir/containerd" ] || { echo "get-containerd: no newer containerd runs here" >&2; exit 1; }
echo "$dir"
