import type { RuntimeHelper } from '../containers/kuberuntime/helper.ts';
import type { Pod, Volume } from '../kube/types.ts';
import type { PodResolution, VolumeFile } from '../provider/resolution.ts';
import type { NodeHost } from './volume-host.ts';

/**
 * Makes the resolution of a pod's references for providers whose containers run elsewhere: the same variables, files, DNS settings and host
 * names that containers on this machine get.
 */
export const podResolution =
  (
    helper: Pick<RuntimeHelper, 'environment' | 'getPodDns' | 'hostnameAndDomain'>,
    volumes: Pick<NodeHost, 'payload'>,
  ): ((pod: Pod) => PodResolution) =>
  (pod) => ({
    environment: (container) => helper.environment(pod, container, ipsOf(pod)),
    files: (volume) => filesOf(pod, volume, volumes),
    dns: async () => helper.getPodDns(pod),
    hostname: () => helper.hostnameAndDomain(pod).hostname,
  });

function ipsOf({ status }: Pod): readonly string[] {
  const ips = (status?.podIPs ?? []).map(({ ip }) => ip);
  return ips.length > 0 ? ips : [status?.podIP ?? ''].filter((ip) => ip !== '');
}

async function filesOf(
  pod: Pod,
  volume: Volume,
  { payload }: Pick<NodeHost, 'payload'>,
): Promise<readonly VolumeFile[] | undefined> {
  const files = await payload(pod, volume);
  return files && Object.entries(files).map(([path, { data, mode }]) => ({ path, bytes: data, mode }));
}
