import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../provider/runtime-pod.ts';

type Recorded = Readonly<Record<string, unknown>>;

/** A recorded container status (FORMAT, runtime view) as ours. */
export function containerStatusFrom(recorded: Recorded): RuntimeContainerStatus {
  const instant = (key: string): Readonly<Record<string, number>> => {
    const text = recorded[key] as string | undefined;
    return text === undefined || text.startsWith('0001-') ? {} : { [key]: Date.parse(text) };
  };
  const text = (key: string): string => (recorded[key] as string | undefined) ?? '';
  return {
    id: text('id'),
    name: text('name'),
    state: recorded['state'] as RuntimeContainerStatus['state'],
    exitCode: (recorded['exitCode'] as number | undefined) ?? 0,
    image: text('image'),
    imageId: text('imageID'),
    imageRef: text('imageRef'),
    hash: (recorded['hash'] as number | undefined) ?? 0,
    restartCount: (recorded['restartCount'] as number | undefined) ?? 0,
    reason: text('reason'),
    message: text('message'),
    ...instant('createdAt'),
    ...instant('startedAt'),
    ...instant('finishedAt'),
  };
}

/** A recorded sandbox as ours. */
export function sandboxFrom(recorded: Recorded): RuntimePodStatus['sandboxStatuses'][number] {
  return {
    id: recorded['id'] as string,
    state: recorded['state'] as 'SANDBOX_READY' | 'SANDBOX_NOTREADY',
    attempt: (recorded['attempt'] as number | undefined) ?? 0,
    createdAt: ((recorded['createdAtNanos'] as number | undefined) ?? 0) / 1e6,
    networkMode: recorded['networkMode'] as 'POD' | 'NODE' | 'CONTAINER',
    ...(recorded['hasNetworkStatus'] === true && {
      network: {
        ip: (recorded['ip'] as string | undefined) ?? '',
        ...(Array.isArray(recorded['additionalIps']) && {
          additionalIps: recorded['additionalIps'] as string[],
        }),
      },
    }),
  };
}

/** A recorded `podStatus` as ours. */
export function podStatusFrom(recorded: Recorded): RuntimePodStatus {
  const list = (key: string): readonly Recorded[] => (recorded[key] as Recorded[] | null | undefined) ?? [];
  const containerStatuses = list('containerStatuses').map(containerStatusFrom);
  const active = new Set(list('activeContainerStatuses') as unknown as readonly string[]);
  return {
    uid: recorded['id'] as string,
    name: recorded['name'] as string,
    namespace: recorded['namespace'] as string,
    ips: list('ips') as unknown as readonly string[],
    containerStatuses,
    activeContainerStatuses: containerStatuses.filter(({ id }) => active.has(id)),
    sandboxStatuses: list('sandboxStatuses').map(sandboxFrom),
  };
}
