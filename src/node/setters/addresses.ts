import { messageOf } from '../../base/errors.ts';
import { canonicalIp, ipFamily } from '../../kube/ip.ts';
import type { Node } from '../../kube/types.ts';
import { type SetterResult, withStatus } from './setter.ts';

/** Annotation with the node IP that a cloud controller must report. */
const providedNodeIpAnnotation = 'alpha.kubernetes.io/provided-node-ip';

/** Settings of a node's addresses. */
export interface AddressSettings {
  /** No address, one, or one of each family; `0.0.0.0` and `::` only select the preferred family. */
  readonly nodeIps: readonly string[];
  readonly hostname: string;
  /** True: a cloud controller sets the addresses; existing ones are left unchanged. */
  readonly externalCloudProvider: boolean;
  /** Returns why an address cannot be the node's; `undefined` when it can. */
  readonly validate: (ip: string) => string | undefined;
  /** Resolves the node's name by DNS. */
  readonly lookup: (name: string) => readonly string[] | Promise<readonly string[]>;
  /** Returns the address of the default route's interface, in the family of `prefer`. @throws when there is none */
  readonly resolve: (prefer: string | undefined) => string | Promise<string>;
}

const isUnspecified = (ip: string): boolean => ip === '0.0.0.0' || ip === '::';

/** Sets the node's internal addresses, in canonical form, and its host name (kubelet `nodestatus.NodeAddress`). */
export async function nodeAddress(node: Node, options: AddressSettings): Promise<SetterResult> {
  const settings = { ...options, nodeIps: options.nodeIps.map(canonicalIp) };
  const { nodeIps, externalCloudProvider, hostname } = settings;
  const specified = nodeIps.slice(0, 2).map((ip) => (isUnspecified(ip) ? undefined : ip));
  const fault = faultOf(specified, settings);
  if (fault !== undefined) return { node, error: fault };
  const annotated = annotate(node, externalCloudProvider ? specified : []);
  const existing = node.status?.addresses ?? [];
  if (externalCloudProvider && existing.length > 0) return { node: annotated };
  if (externalCloudProvider && nodeIps.length === 0) return { node: withAddresses(annotated, [], hostname) };
  return await findAndSet(annotated, specified, settings);
}

async function findAndSet(
  node: Node,
  [first, second]: readonly (string | undefined)[],
  settings: AddressSettings,
): Promise<SetterResult> {
  const name = node.metadata?.name ?? '';
  try {
    const ips = [first ?? (await findAddress(name, settings)), ...(first && second ? [second] : [])];
    return { node: withAddresses(node, ips, settings.hostname) };
  } catch (reason) {
    return { node, error: `can't get ip address of node ${name}. error: ${messageOf(reason)}` };
  }
}

function faultOf(ips: readonly (string | undefined)[], { validate }: AddressSettings): string | undefined {
  for (const [at, ip] of ips.entries()) {
    const fault = ip === undefined ? undefined : validate(ip);
    if (fault !== undefined) return `failed to validate ${at === 0 ? 'nodeIP' : 'secondaryNodeIP'}: ${fault}`;
  }
  return undefined;
}

async function findAddress(name: string, settings: AddressSettings): Promise<string> {
  const { hostname, nodeIps, validate, lookup, resolve } = settings;
  const own = canonicalIp(hostname);
  if (ipFamily(own)) return own;
  const family = ipFamily(nodeIps[0] ?? '0.0.0.0');
  const valid = (await lookup(name)).map(canonicalIp).filter((ip) => validate(ip) === undefined);
  return valid.find((ip) => ipFamily(ip) === family) ?? valid[0] ?? canonicalIp(await resolve(nodeIps[0]));
}

function annotate(node: Node, ips: readonly (string | undefined)[]): Node {
  const { [providedNodeIpAnnotation]: before, ...others } = node.metadata?.annotations ?? {};
  const nodeIp = ips[0] === undefined ? undefined : ips.filter((ip) => ip !== undefined).join(',');
  if (nodeIp === before) return node;
  const annotations = nodeIp === undefined ? others : { ...others, [providedNodeIpAnnotation]: nodeIp };
  return { ...node, metadata: { ...node.metadata, annotations } };
}

function withAddresses(node: Node, ips: readonly string[], hostname: string): Node {
  return withStatus(node, {
    addresses: [
      ...ips.map((address) => ({ type: 'InternalIP', address })),
      { type: 'Hostname', address: hostname },
    ],
  });
}
