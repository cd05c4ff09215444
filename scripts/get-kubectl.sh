#!/usr/bin/env bash
# Puts real kubectl programs into DIR (default .cache/kubectl): kubectl-old from this Debian's own suite, kubectl-new from the newest suite whose
# program runs here. Prints their paths. Idempotent; the system's package sources stay as they are. Needs apt-get and dpkg, no root.
set -euo pipefail
dir=${1:-"$(cd "$(dirname "$0")/.." && pwd)/.cache/kubectl"}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
mirror=$( { sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null || true; } | { grep -v security || true; } | head -1 | awk '{print $1}')
mirror=${mirror:-http://deb.debian.org/debian}

# fetch SUITE NAME: downloads the client package of a suite and keeps its kubectl as NAME
fetch() {
  local suite=$1 name=$2 work
  [ -x "$dir/$name" ] && return 0
  work=$(mktemp -d)
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/etc/preferences.d" "$work/out"
  : >"$work/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$work/sources.list"
  local options=(-o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/lists" -o "Dir::State::status=$work/status"
    -o "Dir::Cache=$work/cache" -o "Dir::Etc::preferencesparts=$work/etc/preferences.d" -o APT::Sandbox::User= -o Acquire::Languages=none)
  apt-get "${options[@]}" -qq update || true
  # newer suites call the package kubectl
  for package in kubectl kubernetes-client; do
    rm -rf "$work/out" "$work/root" && mkdir -p "$work/out"
    (cd "$work/out" && apt-get "${options[@]}" -qq download "$package" 2>/dev/null) || continue
    dpkg -x "$work"/out/*.deb "$work/root"
    if "$work/root/usr/bin/kubectl" version --client >/dev/null 2>&1; then
      install -m 755 "$work/root/usr/bin/kubectl" "$dir/$name"
      break
    fi
  done
  rm -rf "$work"
  [ -x "$dir/$name" ]
}

own=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
fetch "$own" kubectl-old || echo "get-kubectl: no kubectl in $own" >&2
for suite in sid testing trixie; do
  if fetch "$suite" kubectl-new; then break; fi
done
# the oldest one that the table of commands in docs/kubectl.md is made with
fetch trixie kubectl-1.32 || echo "get-kubectl: no kubectl 1.32 runs here" >&2
[ -x "$dir/kubectl-new" ] || echo "get-kubectl: no newer kubectl runs here" >&2
ls "$dir"/kubectl-* 2>/dev/null
