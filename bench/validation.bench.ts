/**
 * Measures the cost of every manifest and every create: validation of a large pod, and the environment of a container with 50 variables.
 */
import { Bench } from 'tinybench';
import { makeEnvironment } from '../src/containers/envvars/environment.ts';
import type { Pod } from '../src/kube/types.ts';
import { defaultPod } from '../src/kube/validation/defaults.ts';
import { validatePod } from '../src/kube/validation/pod.ts';

const podOf = (containers: number): Pod => ({
  metadata: { name: 'bench', namespace: 'default', labels: { app: 'bench' } },
  spec: {
    volumes: [{ name: 'data', emptyDir: {} }],
    containers: Array.from({ length: containers }, (_, i) => ({
      name: `c${i}`,
      image: 'registry.example.com/app:1',
      env: Array.from({ length: 50 }, (_, j) => ({
        name: `V${j}`,
        value: j === 0 ? 'x' : `$(V${j - 1})-${j}`,
      })),
      ports: [{ containerPort: 1000 + i }],
      resources: { limits: { cpu: '500m', memory: '64Mi' } },
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
      livenessProbe: { httpGet: { path: '/', port: 80 } },
    })),
  },
});

const bench = new Bench({ name: 'validation', time: 500 });
for (const size of [1, 10, 100]) {
  const raw = podOf(size);
  const filled = defaultPod(raw);
  bench.add(`defaults, ${size} containers`, () => {
    defaultPod(raw);
  });
  bench.add(`validation, ${size} containers`, () => {
    validatePod(filled);
  });
}
const one = defaultPod(podOf(1));
const [container] = one.spec?.containers ?? [];
bench.add('environment, 50 variables', () => {
  if (container)
    makeEnvironment(one, container, {
      configMap: () => undefined,
      secret: () => undefined,
      services: [],
      servicesSynced: true,
      nodeAllocatable: {},
      hostIps: ['10.0.0.1'],
      podIps: ['10.1.0.1'],
    });
});
await bench.run();
console.table(bench.table());
