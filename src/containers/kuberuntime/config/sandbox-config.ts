import { tableOf } from '../../../base/own.ts';
import { AgentError } from '../../../base/errors.ts';
import { nameOf, namespaceOf, uidOf } from '../../../kube/names.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import {
  type LinuxPodSandboxConfig,
  type PodSandboxConfig,
  type PortMapping,
  Protocol,
} from '../../../provider/cri-messages.ts';
import type { RuntimeHelper } from '../helper.ts';
import { newPodLabels } from './labels.ts';
import { podLogsDirectory } from '../../paths/log-paths.ts';
import { overheadResources, type ResourceSettings, sandboxResources } from './resources.ts';
import { sandboxSecurityContext } from './security-context.ts';
import { podUsersOf } from './user-namespace.ts';

/** Maximum length of a Linux host name. */
const hostnameLimit = 64;

/** Node settings that configurations depend on. */
export interface ConfigSettings extends ResourceSettings {
  /** Directory of the pods' log directories, such as `/var/log/pods`. */
  readonly podLogsRoot: string;
}

/**
 * Returns the configuration for RunPodSandbox. Follows `generatePodSandboxConfig` (pkg/kubelet/kuberuntime).
 *
 * @throws {AgentError} `invalid_argument` when the host name is too long
 */
export async function generateSandboxConfig(
  pod: Pod,
  attempt: number,
  helper: RuntimeHelper,
  settings: ConfigSettings,
): Promise<PodSandboxConfig> {
  const annotations = pod.metadata?.annotations;
  const hostNetwork = pod.spec?.hostNetwork === true;
  const portMappings = (pod.spec?.containers ?? []).flatMap(portMappingsOf);
  return {
    metadata: { name: nameOf(pod), namespace: namespaceOf(pod), uid: uidOf(pod), attempt },
    labels: newPodLabels(pod),
    ...(annotations && { annotations }),
    dnsConfig: await helper.getPodDns(pod),
    ...(!hostNetwork && { hostname: kernelHostname(pod, helper) }),
    logDirectory: podLogsDirectory(settings.podLogsRoot, pod),
    ...(portMappings.length > 0 && { portMappings }),
    linux: await linuxConfig(pod, helper, settings),
  };
}

/** Returns the host name for the kernel: the fully qualified name with `setHostnameAsFQDN` (`GetNodenameForKernel`). */
function kernelHostname(pod: Pod, helper: RuntimeHelper): string {
  const { hostname, domain } = helper.hostnameAndDomain(pod);
  if (pod.spec?.setHostnameAsFQDN !== true || domain === '') return hostname;
  const full = `${hostname}.${domain}`;
  if (full.length <= hostnameLimit) return full;
  throw new AgentError(
    'invalid_argument',
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${full} is too long (${hostnameLimit} characters is the max, ${full.length} characters requested)`,
  );
}

const protocols: Readonly<Record<string, Protocol>> = tableOf({
  TCP: Protocol.TCP,
  UDP: Protocol.UDP,
  SCTP: Protocol.SCTP,
});

/** Returns every port, with or without a host port; of ports with the same name in one container, the first (`MakePortMappings`). */
function portMappingsOf({ ports = [] }: Container): PortMapping[] {
  const byName = new Map<string, PortMapping>();
  for (const { name = '', protocol = '', containerPort, hostPort = 0, hostIP = '' } of ports) {
    const nameless = [protocol, hostIP, containerPort, hostPort].join(' ');
    const key = name === '' ? nameless : name;
    if (byName.has(key)) continue;
    byName.set(key, {
      protocol: protocols[protocol] ?? Protocol.TCP,
      containerPort,
      ...(hostPort !== 0 && { hostPort }),
      ...(hostIP !== '' && { hostIp: hostIP }),
    });
  }
  return [...byName.values()];
}

async function linuxConfig(
  pod: Pod,
  helper: RuntimeHelper,
  settings: ConfigSettings,
): Promise<LinuxPodSandboxConfig> {
  const users = await podUsersOf(pod, helper);
  const sysctls = Object.fromEntries(
    (pod.spec?.securityContext?.sysctls ?? []).map(({ name, value }) => [name, value]),
  );
  return {
    cgroupParent: helper.cgroupParent(pod),
    ...(Object.keys(sysctls).length > 0 && { sysctls }),
    securityContext: sandboxSecurityContext(pod, helper.extraSupplementalGroups(pod), users),
    overhead: overheadResources(pod, settings),
    resources: sandboxResources(pod, settings),
  };
}
