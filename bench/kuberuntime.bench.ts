/**
 * Measures the decision of a sync: it is made for each pod at each change and each resync, so one pod with a container must cost
 * microseconds, and the cost must grow linearly with the containers. Run with `node bench/kuberuntime.bench.ts`.
 */
import { Bench } from 'tinybench';
import { computePodActions } from '../src/containers/kuberuntime/actions/actions.ts';
import { ActuatedStore } from '../src/containers/kuberuntime/resize/actuated.ts';
import { hashContainer } from '../src/containers/kuberuntime/config/hash.ts';
import type { Container, Pod } from '../src/kube/types.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../src/provider/runtime-pod.ts';
import type { ActionInputs } from '../src/containers/kuberuntime/actions/pod-actions.ts';

const containerOf = (index: number): Container => ({
  name: `container-${index}`,
  image: 'registry.example/team/service:1.2.3',
  resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '1', memory: '128Mi' } },
});

const statusOf = (container: Container): RuntimeContainerStatus => ({
  id: `containerd://${container.name}`,
  name: container.name,
  state: 'running',
  exitCode: 0,
  image: container.image ?? '',
  imageId: 'sha256:1',
  imageRef: 'sha256:1',
  hash: hashContainer(container),
  restartCount: 0,
  reason: '',
  message: '',
});

function steady(count: number): { pod: Pod; observed: RuntimePodStatus; inputs: ActionInputs } {
  const containers = Array.from({ length: count }, (_, index) => containerOf(index));
  const pod: Pod = { metadata: { name: 'web', namespace: 'ns', uid: 'u' }, spec: { containers } };
  const containerStatuses = containers.map(statusOf);
  const sandbox = { id: 's', state: 'SANDBOX_READY', attempt: 0, createdAt: 0, networkMode: 'POD' } as const;
  const observed: RuntimePodStatus = {
    uid: 'u',
    name: 'web',
    namespace: 'ns',
    ips: ['10.0.0.1'],
    containerStatuses,
    activeContainerStatuses: containerStatuses,
    sandboxStatuses: [{ ...sandbox, network: { ip: '10.0.0.1' } }],
  };
  const actuated = new ActuatedStore();
  for (const container of containers) actuated.set(pod, container);
  return { pod, observed, inputs: { liveness: new Map(), startup: new Map(), actuated } };
}

const bench = new Bench({ name: 'computePodActions, nothing to do', time: 500 });
for (const count of [1, 10, 100]) {
  const { pod, observed, inputs } = steady(count);
  bench.add(`${count} containers`, () => computePodActions(pod, observed, inputs));
}
await bench.run();
console.table(bench.table());
