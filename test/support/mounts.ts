import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';

/** Unmounts everything below a directory and removes it: an agent that ends leaves the mounts of its pods, as the kubelet does. */
export function removeFolder(dir: string): void {
  const points = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  for (const point of points.filter((each) => each.startsWith(`${dir}/`)).reverse()) unmount(point);
  rmSync(dir, { recursive: true, force: true });
}

function unmount(point: string): void {
  try {
    execFileSync('umount', ['-l', point], { stdio: 'ignore' });
  } catch {
    // gone with another one
  }
}
