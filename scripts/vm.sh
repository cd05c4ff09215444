#!/usr/bin/env bash
# Runs tests in a Debian machine with systemd, cgroup v2, AppArmor, swap, huge pages and pressure readings:
#   scripts/vm.sh [vitest's arguments]     e.g. scripts/vm.sh test/e2e/cri-pods.test.ts
# With VM_KEEP=1 it goes on afterwards; without arguments nothing is run, and its ssh command is printed. Needs root and Debian's
# qemu-system-x86, mmdebstrap and e2fsprogs. Where the processor cannot virtualize it is emulated: ten times slower, and so are time-outs.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
dir=${VM_DIR:-$root/.cache/vm}
port=${VM_PORT:-10522}
suite=bookworm
mirror=http://deb.debian.org/debian
mkdir -p "$dir"
dir=$(cd "$dir" && pwd -P)

for program in qemu-system-x86_64 mmdebstrap mkfs.ext4 ssh zstd; do
  command -v $program >/dev/null || { echo "vm: $program is missing: apt-get install qemu-system-x86 mmdebstrap e2fsprogs openssh-client zstd" >&2; exit 1; }
done

# The machine's disk, its kernel (unpacked: the kernel's own unpacking is what emulators stumble over) and the key to get in.
build() {
  local tree=$dir/tree packages
  packages=systemd-sysv,dbus,udev,polkitd,openssh-server,kmod,initramfs-tools,zstd,ca-certificates,procps,iproute2,iptables,openssl,uidmap
  packages+=,apparmor,nfs-kernel-server,nfs-common,containerd,runc,containernetworking-plugins,busybox-static,python3-minimal
  rm -rf "$tree"
  mmdebstrap --variant=minbase --mode=root --aptopt='Apt::Install-Recommends "false"' --include=$packages \
    --customize-hook="chroot \"\$1\" apt-get install -y -qq --no-install-recommends -t $suite-backports linux-image-cloud-amd64" \
    $suite "$tree" "deb $mirror $suite main" "deb $mirror $suite-updates main" "deb $mirror-security $suite-security main" "deb $mirror $suite-backports main"
  [ -f "$dir/key" ] || ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
  install -D -m 600 "$dir/key.pub" "$tree/root/.ssh/authorized_keys"
  echo vm >"$tree/etc/hostname"
  echo '127.0.0.1 localhost vm' >"$tree/etc/hosts"
  echo 'nameserver 10.0.2.3' >"$tree/etc/resolv.conf"
  printf '/dev/vda / ext4 noatime 0 1\n/dev/vdb none swap defaults 0 0\nhost /host virtiofs defaults 0 0\n' >"$tree/etc/fstab"
  printf '[Match]\nName=en*\n[Network]\nDHCP=yes\n' >"$tree/etc/systemd/network/10.network"
  mkdir -p "$tree/host"
  chroot "$tree" systemctl enable -q systemd-networkd ssh
  chroot "$tree" systemctl disable -q containerd nfs-server rpcbind.service rpcbind.socket
  cp "$tree"/boot/initrd.img-* "$dir/initrd"
  local packed
  packed=$(echo "$tree"/boot/vmlinuz-*)
  tail -c "+$(($(LC_ALL=C grep -obUaP '\x28\xb5\x2f\xfd' "$packed" | head -1 | cut -d: -f1) + 1))" "$packed" | zstd -dqc >"$dir/vmlinux" 2>/dev/null || [ -s "$dir/vmlinux" ] # more follows
  truncate -s 12G "$dir/disk.new"
  mkfs.ext4 -q -F -d "$tree" "$dir/disk.new"
  rm -rf "$tree"
  mv "$dir/disk.new" "$dir/disk"
}

# An emulator that is old miscalculates flags of the processor; Debian's backports have a newer one.
newer_qemu() {
  local apt=$dir/apt package
  mkdir -p "$apt/lists/partial" "$apt/debs"
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s\n' "$mirror $suite main" "$mirror $suite-backports main" >"$apt/sources.list"
  local options=(-qq -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$apt/lists" -o APT::Sandbox::User=)
  apt-get "${options[@]}" update
  for package in qemu-system-x86 qemu-system-data seabios; do (cd "$apt/debs" && apt-get "${options[@]}" download "$package/$suite-backports"); done
  for package in "$apt"/debs/*.deb; do dpkg -x "$package" "$dir/qemu"; done
  rm -rf "$apt"
}

[ -f "$dir/disk" ] || build

qemu=(qemu-system-x86_64)
patience=1
if grep -qwE 'vmx|svm' /proc/cpuinfo && [ -w /dev/kvm ]; then
  qemu+=(-accel kvm -cpu host)
else
  patience=10
  if [[ $(qemu-system-x86_64 --version) =~ version\ [1-8]\. ]]; then
    [ -d "$dir/qemu" ] || newer_qemu
    qemu=("$dir/qemu/usr/bin/qemu-system-x86_64" -L "$dir/qemu/usr/share/qemu" -L "$dir/qemu/usr/share/seabios")
  fi
  qemu+=(-accel 'tcg,thread=multi,tb-size=512' -cpu Haswell-noTSX)
fi

key=$(mktemp) # in the checkout it may be readable by others
install -m 600 "$dir/key" "$key"
inside=(ssh -q -o ConnectTimeout=5 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i "$key" -p "$port" root@127.0.0.1)
socket=$dir/virtiofs.sock
virtiofsd=/usr/libexec/virtiofsd # a package of its own since Debian 13, before a part of QEMU's
[ -x $virtiofsd ] || virtiofsd=/usr/lib/qemu/virtiofsd
rm -f "$socket"
truncate -s 1G "$dir/swap"
mkswap -q "$dir/swap"
setsid "$virtiofsd" --socket-path="$socket" -o source=/ -o cache=auto -o sandbox=chroot >"$dir/virtiofsd.log" 2>&1 </dev/null &
until [ -S "$socket" ]; do sleep 0.1; done
setsid "${qemu[@]}" -machine q35 -smp 2 -m 3G -object memory-backend-memfd,id=mem,size=3G,share=on -numa node,memdev=mem \
  -display none -no-reboot -serial "file:$dir/console.log" -kernel "$dir/vmlinux" -initrd "$dir/initrd" \
  -append 'root=/dev/vda rw console=ttyS0 psi=1 apparmor=1 security=apparmor hugepages=32 panic=1' \
  -drive "file=$dir/disk,format=raw,if=virtio,cache=unsafe" -drive "file=$dir/swap,format=raw,if=virtio,cache=unsafe" \
  -chardev "socket,id=host,path=$socket" -device vhost-user-fs-pci,chardev=host,tag=host \
  -netdev "user,id=net,hostfwd=tcp:127.0.0.1:$port-:22" -device virtio-net-pci,netdev=net,romfile= >"$dir/qemu.log" 2>&1 </dev/null &
machine=$!

finish() {
  "${inside[@]}" poweroff 2>/dev/null || kill "$machine" 2>/dev/null || true
  wait "$machine" || true
  rm -f "$key"
}
[ -n "${VM_KEEP:-}" ] || [ $# = 0 ] || trap finish EXIT

echo "vm: starting (${qemu[*]: -4})"
until "${inside[@]}" true 2>/dev/null; do
  kill -0 "$machine" 2>/dev/null || { cat "$dir/qemu.log" >&2; exit 1; }
  sleep 1
done
# the checkout, and what is linked into it, lie where they lie outside
for folder in "$root" "$root/node_modules" "$root/.cache"; do
  folder=$(readlink -f "$folder")
  "${inside[@]}" "mountpoint -q '$folder' || { mkdir -p '$folder' && mount --rbind '/host$folder' '$folder'; }"
done
if [ $# = 0 ]; then
  echo "vm: ${inside[*]}"
  exit
fi
environment=$(for name in CGROUP_DRIVER CONTAINERD KEEP; do [ -z "${!name:-}" ] || printf '%s=%q ' "$name" "${!name}"; done)
"${inside[@]}" "cd '$root' && PATH=$root/node_modules/.bin:/usr/sbin:\$PATH $environment vitest run --testTimeout=$((30000 * patience)) --hookTimeout=$((120000 * patience)) $(printf '%q ' "$@")"
