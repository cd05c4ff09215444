import { orElse } from './validation/shared.ts';
import { isRestartableInitContainer } from './restart-policy.ts';
import type { Pod } from './types.ts';

/** A host port that a pod uses. */
export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const anyAddress = '0.0.0.0';

/** Returns the host ports of a pod's regular containers and sidecars, with the API's defaults. */
export function hostPortsOf(pod: Pod): readonly HostPort[] {
  const sidecars = (pod.spec?.initContainers ?? []).filter(isRestartableInitContainer);
  return [...(pod.spec?.containers ?? []), ...sidecars].flatMap((container) =>
    (container.ports ?? [])
      .filter(({ hostPort }) => hostPort !== undefined && hostPort > 0)
      .map(({ hostIP, protocol, hostPort }) => ({
        ip: orElse(hostIP, anyAddress),
        protocol: orElse(protocol, 'TCP'),
        port: hostPort ?? 0,
      })),
  );
}

/** True when two ports conflict: same protocol and number, and the same address or one of them uses all addresses. */
export const hostPortsClash = (a: HostPort, b: HostPort): boolean =>
  a.protocol === b.protocol &&
  a.port === b.port &&
  (a.ip === b.ip || a.ip === anyAddress || b.ip === anyAddress);
