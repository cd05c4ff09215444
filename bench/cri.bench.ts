/** Measures the cost of a relist over CRI: decoding a list of 500 containers must take a small part of a second. */
import { performance } from 'node:perf_hooks';
import { Bench } from 'tinybench';
import { decode, encode } from '../src/providers/cri/codec.ts';

const id = (n: number): string => n.toString(16).padStart(64, 'a');
const labels = (n: number): Record<string, string> => ({
  'io.kubernetes.container.name': 'main',
  'io.kubernetes.pod.name': `pod-${n}`,
  'io.kubernetes.pod.namespace': 'default',
  'io.kubernetes.pod.uid': `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
});
const containers = Array.from({ length: 500 }, (_, n) => ({
  id: id(n),
  podSandboxId: id(n + 1000),
  metadata: { name: 'main', attempt: 1 },
  image: { image: `sha256:${id(7)}` },
  imageRef: `sha256:${id(7)}`,
  state: 1,
  createdAt: 1_795_253_542_550_166_000,
  labels: labels(n),
  annotations: {
    'io.kubernetes.container.hash': '5c61c2d3',
    'io.kubernetes.container.restartCount': '1',
    'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
    'io.kubernetes.container.terminationMessagePolicy': 'File',
    'io.kubernetes.pod.terminationGracePeriod': '30',
  },
}));
const list = encode('ListContainersResponse', { containers });
const text = JSON.stringify({ containers });
const sandboxes = encode('ListPodSandboxResponse', {
  items: containers.map(({ id: own, labels: its, createdAt }) => ({ id: own, labels: its, createdAt })),
});

const startedAt = performance.now();
await import('@grpc/grpc-js');
console.log(
  `import of @grpc/grpc-js: ${(performance.now() - startedAt).toFixed(0)} ms, only when --provider cri is used`,
);

const bench = new Bench({ name: `cri, 500 containers, ${Math.round(list.length / 1024)} KiB`, time: 500 });
bench
  .add('decode ListContainers', () => {
    decode('ListContainersResponse', list);
  })
  .add('decode ListPodSandbox', () => {
    decode('ListPodSandboxResponse', sandboxes);
  })
  .add('JSON.parse of the same, to compare', () => {
    JSON.parse(text);
  })
  .add('encode ListContainers', () => {
    encode('ListContainersResponse', { containers });
  });
await bench.run();
console.table(bench.table());
