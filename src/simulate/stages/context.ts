import { rfc3339 } from '../../kube/time.ts';
import type { Pod } from '../../kube/types.ts';
import type { TemplateContext } from '../../go/template/template.ts';

/** What the functions of templates read. */
export interface ContextDeps {
  readonly now: () => number;
  /** When the simulation started, ms since the epoch. */
  readonly startedAt: number;
  readonly addressOf: (node: string) => string | undefined;
  readonly kubeletPort: () => number;
  /** Returns the address of a pod; the same each time. */
  readonly podAddress: (pod: Pod) => string;
}

/** The conditions of a healthy node. */
const nodeConditions = [
  {
    type: 'MemoryPressure',
    status: 'False',
    reason: 'KubeletHasSufficientMemory',
    message: 'kubelet has sufficient memory available',
  },
  {
    type: 'DiskPressure',
    status: 'False',
    reason: 'KubeletHasNoDiskPressure',
    message: 'kubelet has no disk pressure',
  },
  {
    type: 'PIDPressure',
    status: 'False',
    reason: 'KubeletHasSufficientPID',
    message: 'kubelet has sufficient PID available',
  },
  { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' },
];

/** Returns the functions of templates for an object: those that kwok's stages use. */
export function contextOf(node: string, pod: Pod | undefined, deps: ContextDeps): TemplateContext {
  const nodeIP = (name: unknown): string => deps.addressOf(String(name)) ?? '';
  const podIP = (): string => {
    if (!pod) return '';
    return pod.spec?.hostNetwork === true ? nodeIP(node) : (pod.status?.podIP ?? deps.podAddress(pod));
  };
  return {
    Now: () => rfc3339(deps.now()),
    StartTime: () => rfc3339(deps.startedAt),
    Version: () => 'v1.36.2',
    NodeName: () => node,
    NodeIP: () => nodeIP(node),
    NodeIPWith: nodeIP,
    NodePort: () => deps.kubeletPort(),
    NodeConditions: () => nodeConditions,
    PodIP: podIP,
    PodIPWith: podIP,
  };
}
