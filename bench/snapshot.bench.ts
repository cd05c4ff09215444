/**
 * Measures `snapshot` and `restore` of an API server in this process, with 1,000 objects of which 30, or all, have changed meanwhile, and some were
 * created. Aim: a restore in less than 5 ms where few have changed, as between two tests. Argument: the number of objects.
 */
import { startApiServer } from '../src/apiserver/index.ts';
import { percentile, round } from './support/processes.ts';

const objects = Number(process.argv[2] ?? 1000);
const rounds = 60;

const server = await startApiServer();
const write = (i: number, text: string): void => {
  server.store.put('configmaps', {
    metadata: { name: `c${i}`, namespace: 'default', uid: `uid-${i}`, labels: { app: 'bench' } },
    data: Object.fromEntries(Array.from({ length: 10 }, (_, key) => [`key-${key}`, text.padEnd(80, 'v')])),
  });
};
for (let i = 0; i < objects; i++) write(i, 'first');
server.store.flush();

const rows: Record<string, unknown>[] = [];
for (const changed of [30, objects]) {
  const [taken, restored]: [number[], number[]] = [[], []];
  for (let at = 0; at < rounds; at++) {
    const startedAt = performance.now();
    const clean = server.snapshot();
    taken.push(performance.now() - startedAt);
    for (let i = 0; i < changed; i++) write(i, `${at}`);
    for (let i = 0; i < changed; i += 3) write(objects + i, 'new');
    server.store.flush();
    const beginning = performance.now();
    server.restore(clean);
    restored.push(performance.now() - beginning);
  }
  rows.push({
    'objects changed': changed,
    'snapshot p50, ms': round(percentile(taken, 0.5), 2),
    'restore p50, ms': round(percentile(restored, 0.5), 2),
    'restore p99, ms': round(percentile(restored, 0.99), 2),
  });
}
console.table(rows);
await server.stop();
