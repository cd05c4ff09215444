/**
 * The API server of the agent bench, in a separate process, with everything in memory. Prints its URL on the first line, then answers each
 * line on stdin with the number of the agent's requests since the previous line, by kind.
 */
import { subscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';

const [dir = '.', node = 'bench'] = process.argv.slice(2);
const server = await EmbeddedApiServer.start({ minimalScheduler: false, history: 100_000 });
writeFileSync(join(dir, 'admin.kubeconfig'), server.kubeconfig());
writeFileSync(
  join(dir, 'node.kubeconfig'),
  server.kubeconfig(server.clientCertificate(`system:node:${node}`, ['system:nodes'])),
);

const requestCounts = new Map<string, number>();
subscribe('http.server.request.start', (message) => {
  const { request } = message as { request: IncomingMessage };
  if (request.headers['user-agent'] === 'bench-driver') return;
  const path = (request.url ?? '').split('?')[0] ?? '';
  const [, kind = path, sub = ''] =
    /\/(pods|nodes|leases|events|services)(?:\/[^/]+(\/\w+)?)?$/.exec(path) ?? [];
  const key = path.includes('/after-restart') ? 'new pod' : `${request.method ?? ''} ${kind}${sub}`;
  requestCounts.set(key, (requestCounts.get(key) ?? 0) + 1);
});
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`);
createInterface({ input: process.stdin })
  .on('line', () => {
    process.stdout.write(`${JSON.stringify(Object.fromEntries(requestCounts))}\n`);
    requestCounts.clear();
  })
  .on('close', () => {
    process.exit();
  });
