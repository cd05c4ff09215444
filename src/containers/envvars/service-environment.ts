import { isIPv6 } from 'node:net';
import type { Service } from '../../kube/types.ts';

/** Services of the default namespace whose variables every pod gets. */
const masterServices: ReadonlySet<string> = new Set(['kubernetes']);

/**
 * Returns the variables of services: those of the pod's namespace when `enableServiceLinks` is on, and the API server's always.
 *
 * Follows kubelet `getServiceEnvVarMap` and `envvars.FromServices`.
 */
export function serviceEnvironment(
  services: readonly Service[],
  namespace: string,
  links: boolean,
): ReadonlyMap<string, string> {
  const chosen = new Map<string, Service>();
  for (const service of services) {
    const { name = '', namespace: own } = service.metadata ?? {};
    if (!hasClusterIp(service)) continue;
    if (own === 'default' && masterServices.has(name)) {
      if (!chosen.has(name)) chosen.set(name, service);
    } else if (own === namespace && links) chosen.set(name, service);
  }
  return new Map([...chosen.values()].flatMap(variablesOf));
}

const hasClusterIp = ({ spec }: Service): boolean =>
  spec?.clusterIP !== undefined && spec.clusterIP !== '' && spec.clusterIP !== 'None';

const variableName = (text: string): string => text.replaceAll('-', '_').toUpperCase();

type Variable = readonly [string, string];

function variablesOf({ metadata, spec }: Service): readonly Variable[] {
  const prefix = variableName(metadata?.name ?? '');
  const address = spec?.clusterIP ?? '';
  const ports = spec?.ports ?? [];
  return [
    [`${prefix}_SERVICE_HOST`, address],
    ...ports.slice(0, 1).map(({ port }): Variable => [`${prefix}_SERVICE_PORT`, String(port)]),
    ...ports
      .filter(({ name = '' }) => name !== '')
      .map(({ name = '', port }): Variable => [`${prefix}_SERVICE_PORT_${variableName(name)}`, String(port)]),
    ...ports.flatMap((port, i) => linkVariables(prefix, address, port, i === 0)),
  ];
}

type Port = NonNullable<NonNullable<Service['spec']>['ports']>[number];

/** Returns the variables of Docker's container links; the first port stands for the service. */
function linkVariables(
  prefix: string,
  address: string,
  { port, protocol }: Port,
  first: boolean,
): readonly Variable[] {
  const kind = protocol === undefined || protocol === '' ? 'TCP' : protocol;
  const host = isIPv6(address) ? `[${address}]` : address;
  const url = `${kind.toLowerCase()}://${host}:${port}`;
  const name = `${prefix}_PORT_${port}_${kind.toUpperCase()}`;
  return [
    ...(first ? [[`${prefix}_PORT`, url] as const] : []),
    [name, url],
    [`${name}_PROTO`, kind.toLowerCase()],
    [`${name}_PORT`, String(port)],
    [`${name}_ADDR`, address],
  ];
}
