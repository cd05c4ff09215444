import type {
  RuntimeContainerState,
  RuntimeContainerStatus,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '../../../provider/runtime-pod.ts';
import { milliValueOf, parseQuantity, valueOf } from '../../../kube/resources/quantity.ts';

/** A container instance as recordings write it (FORMAT, Runtime view of a pod). */
export interface RecordedContainer {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly createdAt?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly exitCode?: number;
  readonly image?: string;
  readonly imageID?: string;
  readonly imageRef?: string;
  readonly hash?: number;
  readonly restartCount?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly resources?: {
    readonly CPURequest?: string | null;
    readonly CPULimit?: string | null;
    readonly MemoryRequest?: string | null;
    readonly MemoryLimit?: string | null;
  } | null;
  readonly userLinux?: { readonly uid: number; readonly gid: number; readonly supplementalGroups?: number[] };
  readonly stopSignal?: string | null;
}

/** A sandbox as recordings write it. */
export interface RecordedSandbox {
  readonly id: string;
  readonly state: 'SANDBOX_READY' | 'SANDBOX_NOTREADY';
  readonly attempt?: number;
  readonly createdAtNanos?: number;
  readonly networkMode?: 'POD' | 'NODE' | 'CONTAINER';
  readonly hasNetworkStatus?: boolean;
  readonly ip?: string;
  readonly additionalIps?: readonly string[] | null;
}

/** The runtime's view of a pod as recordings write it. */
export interface RecordedPodStatus {
  readonly id?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly ips?: readonly string[] | null;
  readonly containerStatuses?: readonly RecordedContainer[] | null;
  readonly activeContainerStatuses?: readonly string[] | null;
  readonly sandboxStatuses?: readonly RecordedSandbox[] | null;
}

const states: readonly RuntimeContainerState[] = ['created', 'running', 'exited', 'unknown'];

/** ms since the epoch; `undefined` for Go's zero time. */
const instant = (text: string | undefined): number | undefined =>
  text === undefined || text.startsWith('0001-') ? undefined : Date.parse(text);

const amount = (text: string | null | undefined, of: typeof valueOf): number | undefined =>
  text == null ? undefined : of(parseQuantity(text));

function defined<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}

export function containerStatusOf(c: RecordedContainer): RuntimeContainerStatus {
  return defined({
    id: c.id,
    name: c.name,
    state: states.find((state) => state === c.state) ?? 'unknown',
    createdAt: instant(c.createdAt),
    startedAt: instant(c.startedAt),
    finishedAt: instant(c.finishedAt),
    exitCode: c.exitCode ?? 0,
    image: c.image ?? '',
    imageId: c.imageID ?? '',
    imageRef: c.imageRef ?? '',
    hash: c.hash ?? 0,
    restartCount: c.restartCount ?? 0,
    reason: c.reason ?? '',
    message: c.message ?? '',
    resources:
      c.resources &&
      defined({
        cpuRequest: amount(c.resources.CPURequest, milliValueOf),
        cpuLimit: amount(c.resources.CPULimit, milliValueOf),
        memoryRequest: amount(c.resources.MemoryRequest, valueOf),
        memoryLimit: amount(c.resources.MemoryLimit, valueOf),
      }),
    user: c.userLinux,
    stopSignal: c.stopSignal ?? undefined,
  }) as RuntimeContainerStatus;
}

export const sandboxStatusOf = (s: RecordedSandbox): RuntimeSandboxStatus => ({
  id: s.id,
  state: s.state,
  attempt: s.attempt ?? 0,
  createdAt: (s.createdAtNanos ?? 0) / 1e6,
  networkMode: s.networkMode ?? 'POD',
  ...(s.hasNetworkStatus && {
    network: { ip: s.ip ?? '', ...(s.additionalIps && { additionalIps: s.additionalIps }) },
  }),
});

export function runtimeStatusOf(recorded: RecordedPodStatus): RuntimePodStatus {
  const containerStatuses = (recorded.containerStatuses ?? []).map(containerStatusOf);
  const active = new Set(recorded.activeContainerStatuses ?? []);
  return {
    uid: recorded.id ?? '',
    name: recorded.name ?? '',
    namespace: recorded.namespace ?? '',
    ips: recorded.ips ?? [],
    containerStatuses,
    activeContainerStatuses: containerStatuses.filter(({ id }) => active.has(id)),
    sandboxStatuses: (recorded.sandboxStatuses ?? []).map(sandboxStatusOf),
  };
}
