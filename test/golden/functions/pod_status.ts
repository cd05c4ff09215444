import type { Pod, PodCondition, PodStatus } from '../../../src/kube/types.ts';
import { type ProbeResult, type ProbeType, updatePodStatus } from '../../../src/prober/update-pod-status.ts';
import { hostIpsOf } from '../../../src/status/addresses.ts';
import type { StartFailure } from '../../../src/status/container-statuses.ts';
import { generateApiPodStatus } from '../../../src/status/generate.ts';
import type { PodCgroupConfig } from '../../../src/status/pod-resources.ts';
import { apiOptionalKeys } from '../../../src/conformance/state-machines/compare.ts';
import { check, type RecordedCase, type Replay } from '../harness.ts';
import {
  type RecordedPodStatus,
  runtimeStatusOf,
} from '../../../src/conformance/state-machines/support/pod-view.ts';

interface CgroupPart {
  readonly CPUShares?: number | null;
  readonly CPUQuota?: number | null;
  readonly CPUPeriod?: number | null;
  readonly Memory?: number | null;
}

interface Input {
  readonly pod: Pod;
  readonly statusManagerStatus: PodStatus | null;
  readonly podStatus: RecordedPodStatus;
  readonly podIsTerminal: boolean;
  readonly evict: { readonly evict: boolean; readonly reason: string; readonly message: string };
  readonly resizeConditions: readonly PodCondition[] | null;
  readonly nodeAddresses: readonly string[];
  readonly nodeIPs: readonly string[];
  readonly podCgroupCPU: CgroupPart | null;
  readonly podCgroupMemory: CgroupPart | null;
  readonly reasonCache: Readonly<Record<string, StartFailure>>;
  readonly probeWorkers: readonly { readonly Container: string; readonly Probe: string }[] | null;
  readonly probeResults: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly kubeletStart: string;
}

export const replay: Replay = (line) => {
  const input = line['in'] as Input;
  const results: Readonly<Record<string, ProbeResult>> = {
    Success: 'Success',
    Failure: 'Failure',
    UNKNOWN: 'Unknown',
  };
  const { status: actual } = generateApiPodStatus({
    pod: input.pod,
    runtime: runtimeStatusOf(input.podStatus),
    cached: input.statusManagerStatus ?? undefined,
    podIsTerminal: input.podIsTerminal,
    evict: input.evict.evict ? { reason: input.evict.reason, message: input.evict.message } : undefined,
    resizeConditions: input.resizeConditions ?? [],
    hostIps: hostIpsOf(input.nodeAddresses),
    primaryFamily: input.nodeIPs[0]?.includes(':') ? 'IPv6' : 'IPv4',
    cgroup: cgroupOf(input),
    startFailureOf: (container) => input.reasonCache[container],
    withProbeResults: (pod, status) =>
      updatePodStatus(pod, status, {
        startedAt: Date.parse(input.kubeletStart),
        resultOf: (type: ProbeType, id) => results[input.probeResults[type]?.[id] ?? ''],
        hasWorker: (type, container) =>
          (input.probeWorkers ?? []).some((w) => w.Container === container && w.Probe === type),
      }),
  });
  return check(line['out'], actual, {}, { optionalKeys: apiOptionalKeys, ignore: emptyMaps(line) });
};

/**
 * In Go a container may have requests that are an empty map, which is not nil and is filled with what the runtime applied. JSON
 * writes both alike, so where a container asks for nothing, the requests of its status are compared only if the recording has none.
 */
function emptyMaps(line: RecordedCase): (path: string) => boolean {
  const { pod } = line['in'] as Input;
  const asks = new Map(pod.spec?.containers.map((c) => [c.name, c.resources?.requests !== undefined]));
  const statuses = (line['out'] as PodStatus).containerStatuses ?? [];
  return (path) => {
    const at = /^\.containerStatuses\[(\d+)\]\.resources\.requests$/.exec(path)?.[1];
    const status = at === undefined ? undefined : statuses[Number(at)];
    return status?.resources?.requests !== undefined && asks.get(status.name) === false;
  };
}

function cgroupOf({ podCgroupCPU: cpu, podCgroupMemory: memory }: Input): PodCgroupConfig | undefined {
  if (!cpu && !memory) return undefined;
  return Object.fromEntries(
    Object.entries({
      cpuShares: cpu?.CPUShares,
      cpuQuota: cpu?.CPUQuota,
      cpuPeriod: cpu?.CPUPeriod,
      memory: memory?.Memory,
    }).filter(([, value]) => value != null),
  );
}
