import { ownMember } from '../base/own.ts';
import { isAlreadyExists, isForbidden, isNotFound } from '../api/client.ts';
import { isAborted } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Node } from '../kube/types.ts';
import type { NodeClient } from './clients.ts';
import { isHugePageResource } from '../kube/resources/resource-names.ts';

/** Labels that the agent owns on a node that was there before (R254). */
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

/** Annotation: the attach/detach controller looks after this node's volumes. */
export const attachDetachAnnotation = 'volumes.kubernetes.io/controller-managed-attach-detach';

/** What a node is called and how it is marked. */
export interface NodeIdentity {
  readonly name: string;
  readonly hostname: string;
  /** Go's names: `linux`, `amd64`. */
  readonly operatingSystem: string;
  readonly architecture: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Labels that the node does without where its identity may not set them, e.g. those of virtual-kubelet with a kubelet's identity. */
  readonly optionalLabels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints?: NonNullable<NonNullable<Node['spec']>['taints']>;
  readonly unschedulable?: boolean;
  readonly providerId?: string;
  /** A cloud controller finishes the node: it is tainted until then. */
  readonly externalCloudProvider?: boolean;
  /** The attach/detach controller looks after its volumes; default: yes. */
  readonly controllerAttachDetach?: boolean;
}

/** Labels that say what the machine is: every round of the status mends them (kubelet `updateNode`). */
export const platformLabels = ({
  operatingSystem,
  architecture,
}: NodeIdentity): Readonly<Record<string, string>> => ({
  'kubernetes.io/arch': architecture,
  'kubernetes.io/os': operatingSystem,
});

/** The Node before its status (R255): own labels win over the default ones. */
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
 * What must change on a Node that was there before: default labels and the attach annotation; foreign labels, taints and
 * `unschedulable` are left alone (R254). Nothing: it is well as it is.
 */
export function reconcilePatch(existing: Node, wanted: Node): object | undefined {
  const [has, shall] = [existing.metadata ?? {}, wanted.metadata ?? {}];
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
 * What must change in the status of a Node that was there before: sizes of huge pages that the machine does not have go, which no later
 * report would take out (kubelet `reconcileHugePageResource`). Nothing: it is well as it is.
 */
export function reconcileStatusPatch(existing: Node, wanted: Node): object | undefined {
  const offered = wanted.status?.capacity ?? {};
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
  wanted: Texts = {},
  names: readonly string[] = [],
): Texts | undefined {
  const other = names.filter(
    (name) => ownMember(wanted, name) !== undefined && ownMember(wanted, name) !== ownMember(existing, name),
  );
  return other.length === 0
    ? undefined
    : Object.fromEntries(other.map((name) => [name, ownMember(wanted, name) ?? '']));
}

export interface RegisterDeps {
  /** Names of labels that are left out when the API server forbids them. */
  readonly optionalLabels?: readonly string[];
  readonly nodes: NodeClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Makes the Node or adopts the one that is there; tries until it works or `signal` aborts (R253: 100 ms, doubling to 7 s). */
export async function registerNode(
  deps: RegisterDeps,
  make: () => Promise<Node>,
  signal: AbortSignal,
): Promise<Node | undefined> {
  let optional = deps.optionalLabels ?? [];
  let without: readonly string[] = [];
  for (let pauseMs = 100; !signal.aborted; pauseMs = Math.min(2 * pauseMs, 7000)) {
    const wanted = withoutLabels(await make(), without);
    try {
      const node = await tryRegister(deps.nodes, wanted, signal);
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

async function tryRegister(nodes: NodeClient, wanted: Node, signal: AbortSignal): Promise<Node> {
  const name = wanted.metadata?.name ?? '';
  const options = { signal, timeoutMs: 10_000 };
  let refusal: unknown;
  try {
    return await nodes.create(wanted, options);
  } catch (reason) {
    if (!isAlreadyExists(reason) && !isForbidden(reason)) throw reason;
    refusal = reason;
  }
  const existing = await nodes.get(name, options).catch((missing: unknown) => {
    // the node is not there: what counts is why it may not be made
    throw isForbidden(refusal) && isNotFound(missing) ? refusal : missing;
  });
  const body = reconcilePatch(existing, wanted);
  const marked = body ? await nodes.patch(name, { type: 'strategic', body }, options) : existing;
  const status = reconcileStatusPatch(existing, wanted);
  if (!status) return marked;
  return nodes.patch(name, { type: 'strategic', body: status }, { ...options, subresource: 'status' });
}
