/**
 * Measures the memory of a cached object and the cost of the first list: of whole pods, pods that a transform reduces to node and phase, and
 * metadata only, beside the informer of `@kubernetes/client-node`. Aim: at most half of its memory per object.
 *
 * `npm run bench -- controller.cache [PODS]`
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const support = (file: string): string => join(import.meta.dirname, 'support', file);
const [pods = '10000'] = process.argv.slice(2);

const server = spawn(process.execPath, [support('api-load.ts'), pods, '1'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const [port] = (await once(server.stdout, 'data')) as [Buffer];
  const url = `http://127.0.0.1:${port.toString().trim()}`;
  const rows: Record<string, unknown>[] = [];
  for (const mode of ['full', 'transformed', 'metadata-only', 'client-node']) {
    const { stdout } = await run(process.execPath, [support('controller-cache-case.ts'), mode, url]);
    const { objects, bytes, ms, cpuMs } = JSON.parse(stdout) as Record<
      'objects' | 'bytes' | 'ms' | 'cpuMs',
      number
    >;
    rows.push({
      cache: mode,
      objects,
      'bytes per object': Math.round(bytes / objects),
      'first list ms': Math.round(ms),
      'CPU µs per object': Math.round((cpuMs * 1000) / objects),
    });
  }
  console.table(rows);
} finally {
  server.kill();
}
