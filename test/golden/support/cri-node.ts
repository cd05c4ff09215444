import { durationMs } from '../../../src/kube/duration.ts';
import type { RuntimeHelper } from '../../../src/containers/kuberuntime/helper.ts';
import type { ConfigSettings } from '../../../src/containers/kuberuntime/config/sandbox-config.ts';
import type { SecuritySettings } from '../../../src/containers/kuberuntime/config/security-profiles.ts';
import type { DNSConfig, UserNamespace } from '../../../src/provider/cri-messages.ts';

/** The recorded kubelet's settings and its host. */
export interface RecordedNode {
  readonly hostHugePageSizes: readonly string[];
  readonly kubelet: {
    readonly cgroupV2: boolean;
    readonly cpuCFSQuota: boolean;
    readonly cpuCFSQuotaPeriod: string;
    readonly seccompDefault: boolean;
    readonly singleProcessOOMKill: boolean | null;
    readonly memoryCapacity: number;
    readonly swapControllerAvailable: boolean;
    readonly memorySwapBehavior: string;
    readonly swapCapacity: number;
  };
}

/** Our settings of the recorded node; seccomp profiles were in a made-up folder. */
export const settingsOf = ({
  kubelet,
  hostHugePageSizes,
}: RecordedNode): ConfigSettings & SecuritySettings => ({
  podLogsRoot: '/var/log/pods',
  memoryCapacityBytes: kubelet.memoryCapacity,
  cpuCfsQuota: kubelet.cpuCFSQuota,
  cpuCfsPeriodMicros: durationMs(kubelet.cpuCFSQuotaPeriod) * 1000,
  cgroupV2: kubelet.cgroupV2,
  ...(kubelet.singleProcessOOMKill !== null && { singleProcessOomKill: kubelet.singleProcessOOMKill }),
  hugePageSizes: hostHugePageSizes,
  ...(kubelet.swapControllerAvailable && {
    swap: { behavior: kubelet.memorySwapBehavior, capacityBytes: kubelet.swapCapacity },
  }),
  seccompDefault: kubelet.seccompDefault,
  seccompProfileRoot: '/fakeSeccompProfileRoot',
});

/** As the recorder's runtime helper maps the users of every pod. */
export const recordedUsers: UserNamespace = {
  uids: [{ hostId: 65_536, containerId: 0, length: 65_536 }],
  gids: [{ hostId: 65_536, containerId: 0, length: 65_536 }],
};

/** Present-and-empty is a user or a value of its own here. */
export const criOptionalKeys: ReadonlySet<string> = new Set(['run_as_user', 'run_as_group']);

/** What the recorder's kubelet side had worked out. */
export interface RecordedHelper {
  readonly cgroupParent: string;
  readonly dns: DNSConfig;
  readonly extraGroups: readonly number[] | null;
  readonly hostName: string;
  readonly hostDomain: string;
  readonly userNamespacesSupported: boolean;
}

/** A runtime helper that answers as the recorded one. */
export const runtimeHelperOf = (recorded: RecordedHelper): RuntimeHelper => ({
  generateRunContainerOptions: async () => ({}),
  environment: async () => [],
  getPodDns: () => recorded.dns,
  hostnameAndDomain: () => ({ hostname: recorded.hostName, domain: recorded.hostDomain }),
  cgroupParent: () => recorded.cgroupParent,
  extraSupplementalGroups: () => recorded.extraGroups ?? [],
  isPodTerminationRequested: () => false,
  userNamespace: ({ spec }) =>
    spec?.hostUsers === false && recorded.userNamespacesSupported ? recordedUsers : undefined,
});
