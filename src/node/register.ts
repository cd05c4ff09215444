import { ownMember } from '../base/own.ts';
import { isAlreadyExists, isForbidden, isNotFound } from '../api/client.ts';
import { isAborted } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Node } from '../kube/types.ts';
import type { NodeClient } from './clients.ts';
import { isHugePageResource } from '../kube/resources/resource-names.ts';

/** Labels that the agent maintains on an existing node (R254). */
const defaultLabels = [
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
];

/** Annotation that makes the attach/detach controller manage this node's volumes. */
export const attachDetachAnnotation = 'volumes.kubernetes.io/controller-managed-attach-detach';

/** Name and labels of a node. */
export interface NodeIdentity {
  readonly name: string;
  readonly hostname: string;
  /** Operating system by Go's name, such as `linux`. */
  readonly operatingSystem: string;
  readonly architecture: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Labels that are dropped when the agent's identity may not set them, such as virtual-kubelet's labels with a kubelet identity. */
  readonly optionalLabels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints?: NonNullable<NonNullable<Node['spec']>['taints']>;
  readonly unschedulable?: boolean;
  readonly providerId?: string;
  /** True: the node is tainted until a cloud controller has initialized it. */
  readonly externalCloudProvider?: boolean;
  /** True when the attach/detach controller manages its volumes; default: true. */
  readonly controllerAttachDetach?: boolean;
}

/** Returns the labels that describe the machine; every status update restores them (kubelet `updateNode`). */
export const platformLabels = ({
  operatingSystem,
  architecture,
}: NodeIdentity): Readonly<Record<string, string>> => ({
  'kubernetes.io/arch': architecture,
  'kubernetes.io/os': operatingSystem,
});

/** Returns the Node to create, without status (R255); configured labels override default ones. */
export function initialNode(identity: NodeIdentity): Node {
  const { name, hostname, operatingSystem: os, architecture: arch } = identity;
  const taints = [
    ...(identity.taints ?? []),
    ...(identity.externalCloudProvider === true
      ? [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' }]
      : []),
  ];
  return {
    kind: 'Node',
    apiVersion: 'v1',
    metadata: {
      name,
      labels: {
        'beta.kubernetes.io/arch': arch,
        'beta.kubernetes.io/os': os,
        'kubernetes.io/hostname': hostname,
        ...platformLabels(identity),
        ...identity.optionalLabels,
        ...identity.labels,
      },
      annotations: {
        ...(identity.controllerAttachDetach !== false && { [attachDetachAnnotation]: 'true' }),
        ...identity.annotations,
      },
    },
    spec: {
      ...(taints.length > 0 && { taints }),
      ...(identity.unschedulable === true && { unschedulable: true }),
      ...(identity.providerId !== undefined && { providerID: identity.providerId }),
    },
  };
}

/**
 * Returns the patch for an existing Node: default labels and the attach annotation; other labels, taints and
 * `unschedulable` are left unchanged (R254). `undefined` when nothing changes.
 */
export function reconcilePatch(existing: Node, desired: Node): object | undefined {
  const [has, shall] = [existing.metadata ?? {}, desired.metadata ?? {}];
  const labels = differing(has.labels, shall.labels, defaultLabels);
  const attached = differing(has.annotations, shall.annotations, [attachDetachAnnotation]);
  const detached =
    has.annotations?.[attachDetachAnnotation] !== undefined &&
    shall.annotations?.[attachDetachAnnotation] === undefined;
  const annotations = detached ? { [attachDetachAnnotation]: null } : attached;
  return labels || annotations
    ? { metadata: { ...(labels && { labels }), ...(annotations && { annotations }) } }
    : undefined;
}

/**
 * Returns the status patch for an existing Node: removes huge page sizes that the machine does not have, which later
 * updates would keep (kubelet `reconcileHugePageResource`). `undefined` when nothing changes.
 */
export function reconcileStatusPatch(existing: Node, desired: Node): object | undefined {
  const offered = desired.status?.capacity ?? {};
  const gone = Object.keys(existing.status?.capacity ?? {}).filter(
    (name) => isHugePageResource(name) && !Object.hasOwn(offered, name),
  );
  if (gone.length === 0) return undefined;
  const removed = Object.fromEntries(gone.map((name) => [name, null]));
  return { status: { capacity: removed, allocatable: removed } };
}

type Texts = Readonly<Record<string, string>>;

function differing(
  existing: Texts = {},
  desired: Texts = {},
  names: readonly string[] = [],
): Texts | undefined {
  const other = names.filter(
    (name) =>
      ownMember(desired, name) !== undefined && ownMember(desired, name) !== ownMember(existing, name),
  );
  return other.length === 0
    ? undefined
    : Object.fromEntries(other.map((name) => [name, ownMember(desired, name) ?? '']));
}

export interface RegisterDeps {
  /** Names of labels to drop when the API server forbids them. */
  readonly optionalLabels?: readonly string[];
  readonly nodes: NodeClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Creates the Node or adopts the existing one; retries until it succeeds or `signal` aborts (R253: 100 ms, doubling to 7 s). */
export async function registerNode(
  deps: RegisterDeps,
  make: () => Promise<Node>,
  signal: AbortSignal,
): Promise<Node | undefined> {
  let optional = deps.optionalLabels ?? [];
  let without: readonly string[] = [];
  for (let pauseMs = 100; !signal.aborted; pauseMs = Math.min(2 * pauseMs, 7000)) {
    const desired = withoutLabels(await make(), without);
    try {
      const node = await tryRegister(deps.nodes, desired, signal);
      deps.logger.info('node registered: joined the cluster', { node: node.metadata?.name });
      return node;
    } catch (reason) {
      if (isAborted(signal)) break;
      if (isForbidden(reason) && optional.length > 0) {
        const hint = 'an administrator may set them with kubectl label node';
        deps.logger.warn(`the node may not set some labels and registers without them; ${hint}`, {
          labels: optional,
        });
        without = optional;
        optional = [];
        continue;
      }
      deps.logger.warn('the node could not be registered', { err: messageOf(reason), pauseMs });
      await deps.clock.sleep(pauseMs, signal).catch(() => undefined);
    }
  }
  return undefined;
}

function withoutLabels(node: Node, names: readonly string[]): Node {
  const { metadata = {} } = node;
  const labels = Object.entries(metadata.labels ?? {}).filter(([name]) => !names.includes(name));
  return { ...node, metadata: { ...metadata, labels: Object.fromEntries(labels) } };
}

async function tryRegister(nodes: NodeClient, desired: Node, signal: AbortSignal): Promise<Node> {
  const name = desired.metadata?.name ?? '';
  const options = { signal, timeoutMs: 10_000 };
  let refusal: unknown;
  try {
    return await nodes.create(desired, options);
  } catch (reason) {
    if (!isAlreadyExists(reason) && !isForbidden(reason)) throw reason;
    refusal = reason;
  }
  const existing = await nodes.get(name, options).catch((missing: unknown) => {
    // The Node does not exist; the reason why it may not be created is the relevant one.
    throw isForbidden(refusal) && isNotFound(missing) ? refusal : missing;
  });
  const body = reconcilePatch(existing, desired);
  const marked = body ? await nodes.patch(name, { type: 'strategic', body }, options) : existing;
  const status = reconcileStatusPatch(existing, desired);
  if (!status) return marked;
  return nodes.patch(name, { type: 'strategic', body: status }, { ...options, subresource: 'status' });
}
