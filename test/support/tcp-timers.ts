import { readFile } from 'node:fs/promises';
import { soon } from './found.ts';

const hex = (port: number | undefined): string => (port ?? 0).toString(16).toUpperCase().padStart(4, '0');

/** Waits until the kernel runs a keep-alive timer, of 60 s or more, for one end of a connection within this machine. */
export function asksInSilence(end: {
  readonly localPort: number | undefined;
  readonly remotePort: number | undefined;
}): Promise<void> {
  const ports = new RegExp(`: \\w+:${hex(end.localPort)} \\w+:${hex(end.remotePort)} 01 \\S+ (\\w+):(\\w+)`);
  return soon(`a keep-alive timer of port ${end.localPort} to ${end.remotePort}`, async () => {
    const [, timer = '', jiffies = ''] = ports.exec(await readFile('/proc/net/tcp', 'utf8')) ?? [];
    return timer === '02' && Number.parseInt(jiffies, 16) > 50 * 100;
  });
}
