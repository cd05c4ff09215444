/**
 * Measures HTTP probes of a server in another process: the agent's CPU per probe, plain, over TLS and over HTTP/2, as medians of rounds.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../src/base/clock.ts';
import { Authority, hour } from '../src/pki/certificates.ts';
import { httpProbe } from '../src/prober/http-probe.ts';

const [rounds, perRound] = [15, 200];

if (process.send) await serve((ports) => process.send?.(ports));
else await measure();

async function serve(tell: (ports: readonly number[]) => unknown): Promise<void> {
  const now = Date.now();
  const { key, cert } = Authority.create('bench', now).issue({
    subject: { commonName: 'server' },
    notBefore: now - hour,
    notAfter: now + hour,
    usages: ['server auth'],
  });
  const servers = [
    createServer((_request, response) => response.end('ok')),
    createHttpsServer({ key, cert }, (_request, response) => response.end('ok')),
    createSecureServer({ key, cert }, (_request, response) => {
      response.end('ok');
    }),
  ];
  const ports: number[] = [];
  for (const server of servers) {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    ports.push((server.address() as AddressInfo).port);
  }
  tell(ports);
}

async function measure(): Promise<void> {
  const child = fork(import.meta.filename);
  const [ports] = (await once(child, 'message')) as [number[]];
  const [plain = 0, tls = 0, http2 = 0] = ports;
  await report('HTTP', plain, 'HTTP');
  await report('HTTPS, HTTP/1.1', tls, 'HTTPS');
  await report('HTTPS, HTTP/2', http2, 'HTTPS');
  child.kill();
}

async function report(name: string, port: number, scheme: string): Promise<void> {
  const probe = httpProbe(systemClock);
  const call = {
    target: {
      type: 'readiness',
      pod: { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec: { containers: [{ name: 'c' }] } },
      container: { name: 'c' },
      probe: { httpGet: { port, path: '/healthz', scheme } },
    },
    podIp: '127.0.0.1',
    containerId: 'bench://1',
    timeoutMs: 5000,
  } as const;
  const { outcome, output } = await probe(call);
  if (outcome !== 'success') {
    console.log(`${name.padEnd(18)} ${output}`);
    return;
  }
  const spent: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    for (let i = 0; i < perRound; i++) await probe(call);
    const { user, system } = process.cpuUsage(before);
    spent.push((user + system) / perRound);
  }
  spent.sort((a, b) => a - b);
  const [fastest = 0, median = 0] = [spent[0], spent[Math.floor(rounds / 2)]];
  console.log(
    `${name.padEnd(18)} ${median.toFixed(0)} µs CPU a probe, median of ${rounds} rounds (fastest ${fastest.toFixed(0)})`,
  );
}
