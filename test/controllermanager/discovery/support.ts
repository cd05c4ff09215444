import type { Pod, Service } from '../../../src/controllermanager/workload/types.ts';

/** A service `web`; `labels` go into its metadata. */
export function serviceOf({
  labels = { tier: 'front' },
  ...spec
}: { labels?: Record<string, string> } & object): Service {
  return {
    metadata: {
      namespace: 'default',
      name: 'web',
      uid: 'uid-web',
      labels,
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: {
      clusterIP: '10.96.0.1',
      ipFamilies: ['IPv4'],
      selector: { app: 'web' },
      ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
      ...spec,
    },
  };
}

interface PodState {
  readonly ready?: boolean;
  readonly deleted?: boolean;
  readonly phase?: string;
  readonly node?: string;
  readonly hostname?: string;
  readonly subdomain?: string;
  /** Addresses besides the first. */
  readonly more?: readonly string[];
  readonly port?: { readonly name: string; readonly containerPort: number };
}

export function endpointPod(name: string, ip: string, state: PodState = {}): Pod {
  const {
    ready = true,
    deleted,
    phase = 'Running',
    node = 'n1',
    hostname,
    subdomain,
    more = [],
    port,
  } = state;
  return {
    metadata: {
      namespace: 'default',
      name,
      uid: `uid-${name}`,
      labels: { app: 'web' },
      ...(deleted && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: {
      containers: [{ name: 'c', ...(port && { ports: [port] }) }],
      nodeName: node,
      ...(hostname !== undefined && { hostname }),
      ...(subdomain !== undefined && { subdomain }),
    },
    status: {
      phase,
      podIP: ip,
      podIPs: [ip, ...more].map((one) => ({ ip: one })),
      conditions: [
        { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: '2026-01-01T00:01:00Z' },
      ],
    },
  };
}
