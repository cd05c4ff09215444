/**
 * Justifies code that is written for speed rather than for readability: compares each shortcut of `base/members-of.ts` and
 * `api/cache/known-objects.ts` with the plain code, over the objects of a pod. Run with `node bench/shortcuts.bench.ts`.
 */
import { glance, versionInEvent } from '../src/api/cache/known-objects.ts';
import { hasMembers, memberCount } from '../src/base/members-of.ts';

const pod = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: {
    name: 'web-1',
    namespace: 'default',
    uid: '0f3a',
    resourceVersion: '1041',
    labels: { app: 'web', tier: 'front' },
    annotations: { a: 'b', c: 'd' },
  },
  spec: {
    nodeName: 'n',
    containers: Array.from({ length: 3 }, (_, i) => ({
      name: `c${i}`,
      image: 'registry.example/web:1',
      env: [{ name: 'A', value: 'b' }],
      resources: { requests: { cpu: '1', memory: '1Gi' } },
      volumeMounts: [{ name: 'v', mountPath: '/x' }],
    })),
  },
  status: {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' }],
    containerStatuses: [{ name: 'c0', ready: true, restartCount: 0, state: { running: { startedAt: 'x' } } }],
  },
};

const objects: Readonly<Record<string, unknown>>[] = [];
function collect(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) objects.push(value as Readonly<Record<string, unknown>>);
  Object.values(value).forEach(collect);
}
collect(pod);
const line = Buffer.from(JSON.stringify({ type: 'MODIFIED', object: pod }));

type Way = () => unknown;
const overAll =
  (act: (object: Readonly<Record<string, unknown>>) => unknown): Way =>
  () => {
    for (const object of objects) act(object);
  };

const pairs: Readonly<Record<string, readonly [shortcut: Way, plain: Way]>> = {
  hasMembers: [overAll(hasMembers), overAll((object) => Object.keys(object).length > 0)],
  memberCount: [overAll(memberCount), overAll((object) => Object.keys(object).length)],
  versionInEvent: [() => versionInEvent(glance(line)), () => JSON.parse(line.toString()) as unknown],
};

/** The fastest of several rounds, ns per call: other load only makes a round slower. */
function fastest(way: Way): number {
  const calls = 20_000;
  let best = Infinity;
  for (let round = 0; round < 15; round++) {
    const startedAt = process.hrtime.bigint();
    for (let i = 0; i < calls; i++) way();
    best = Math.min(best, Number(process.hrtime.bigint() - startedAt) / calls);
  }
  return Math.round(best);
}

process.stdout.write(`shortcuts, the fastest of 15 rounds; Node ${process.version}\n`);
console.table(
  Object.entries(pairs).map(([name, [shortcut, plain]]) => {
    const [shortcutNs, plainNs] = [fastest(shortcut), fastest(plain)];
    return { name, shortcutNs, plainNs, saved: `${Math.round(100 * (1 - shortcutNs / plainNs))} %` };
  }),
);
