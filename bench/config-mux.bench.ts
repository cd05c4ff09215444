/**
 * Measures the multiplexer: merging a snapshot of 10,000 pods of one source. The Go kubelet on a machine of this kind needs 21 ms when all
 * are new, 56 ms when 1 % changed and 50 ms when nothing did. "copies" are new objects, as after a relist; "shared" are those of an
 * informer, where an unchanged pod is the same object.
 */
import { Bench } from 'tinybench';
import { mergeSnapshot } from '../src/config/pod-storage.ts';
import type { Pod } from '../src/kube/types.ts';

const count = 10_000;

const podOf = (i: number, image: string): Pod => ({
  metadata: {
    name: `pod-${i}`,
    namespace: `ns-${i % 50}`,
    uid: `0a1b2c3d-${i}`,
    resourceVersion: String(i),
    labels: { app: 'web', tier: 'front', 'pod-template-hash': 'abcdef' },
    annotations: { 'example.com/checksum': 'a'.repeat(64) },
  },
  spec: {
    nodeName: 'node-1',
    restartPolicy: 'Always',
    containers: [
      {
        name: 'web',
        image,
        ports: [{ containerPort: 80 }],
        env: [
          { name: 'A', value: 'b' },
          { name: 'C', value: 'd' },
        ],
        resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi' } },
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      },
    ],
    volumes: [{ name: 'data', emptyDir: {} }],
  },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
});

const all = Array.from({ length: count }, (_, i) => podOf(i, 'nginx:1'));
const changedShared = all.map((pod, i) => (i % 100 === 0 ? podOf(i, 'nginx:2') : pod));
const copies = structuredClone(all);
const changedCopies = structuredClone(changedShared);
const { memory } = mergeSnapshot(undefined, { source: 'api', pods: all }, 0);

const bench = new Bench({ name: `multiplexer, ${count} pods`, time: 1000 });
bench.add('all new', () => mergeSnapshot(undefined, { source: 'api', pods: all }, 0));
bench.add('1 % changed, shared', () => mergeSnapshot(memory, { source: 'api', pods: changedShared }, 0));
bench.add('1 % changed, copies', () => mergeSnapshot(memory, { source: 'api', pods: changedCopies }, 0));
bench.add('unchanged, shared', () => mergeSnapshot(memory, { source: 'api', pods: all }, 0));
bench.add('unchanged, copies', () => mergeSnapshot(memory, { source: 'api', pods: copies }, 0));
await bench.run();
console.table(bench.table());
