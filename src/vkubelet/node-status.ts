import { isConflict } from '../api/client.ts';
import { AgentError } from '../base/errors.ts';
import { rfc3339 } from '../kube/time.ts';
import type { Lease, Node, NodeCondition, NodeStatus } from '../kube/types.ts';
import type { LeaseClient, NodeClient } from '../node/clients.ts';
import { microTimeText } from '../kube/time.ts';
import { nodeStatusPatch } from '../node/status-patch.ts';

/** Annotation: the status that this agent wrote last; what is not of it is somebody else's. virtual-kubelet's own. */
export const lastAppliedStatusAnnotation = 'virtual-kubelet.io/last-applied-node-status';
/** Annotation: the labels and annotations that this agent wrote last. virtual-kubelet's own. */
export const lastAppliedMetaAnnotation = 'virtual-kubelet.io/last-applied-object-meta';

const conflictTries = 5;

/**
 * Brings the status, labels and annotations of a Node to those of `desired` and returns the Node as the API server has it then. What others wrote
 * stays: only what this agent wrote before, by the two annotations, is taken out again.
 *
 * Follows virtual-kubelet `UpdateNodeStatus`.
 *
 * @example
 * const node = await updateNodeStatus(nodes, { ...before, status });
 */
export async function updateNodeStatus(
  nodes: Pick<NodeClient, 'get' | 'patch'>,
  desired: Node,
  signal?: AbortSignal,
): Promise<Node> {
  const name = desired.metadata?.name ?? '';
  const options = { timeoutMs: 10_000, ...(signal && { signal }) };
  for (let tries = 1; ; tries++) {
    const present = await nodes.get(name, options);
    const body = threeWayPatch(present, desired);
    if (!body) return present;
    try {
      return await nodes.patch(name, { type: 'strategic', body }, { ...options, subresource: 'status' });
    } catch (reason) {
      if (!isConflict(reason) || tries >= conflictTries) throw reason;
    }
  }
}

/**
 * Patches the status of a Node with what differs between two of its versions.
 *
 * Follows the first release's `PatchNodeStatus`.
 *
 * @returns the Node as the API server has it then, and the patch; of no difference the old Node and nothing
 *
 * @example
 * const [node, patch] = await patchNodeStatus(nodes, 'rooms', before, { ...before, status });
 */
export async function patchNodeStatus(
  nodes: Pick<NodeClient, 'patch'>,
  nodeName: string,
  oldNode: Node,
  newNode: Node,
): Promise<readonly [node: Node, patch: object | undefined]> {
  const body = nodeStatusPatch(oldNode, newNode);
  if (!body) return [oldNode, undefined];
  const node = await nodes.patch(
    nodeName,
    { type: 'strategic', body },
    { subresource: 'status', timeoutMs: 10_000 },
  );
  return [node, body];
}

/**
 * Renews a lease: writes `base` with the present time, or creates it when it is not there yet.
 *
 * Follows the first release's `UpdateNodeLease`.
 *
 * @example
 * lease = await updateNodeLease(leases, lease, clock.now());
 */
export async function updateNodeLease(leases: LeaseClient, base: Lease, now: number): Promise<Lease> {
  const name = base.metadata?.name;
  if (name === undefined || name === '')
    throw new AgentError('invalid_argument', 'the lease has no name: set metadata.name to the node name');
  const lease = { ...base, spec: { ...base.spec, renewTime: microTimeText(now) } };
  try {
    return await leases.update(lease, { timeoutMs: 10_000 });
  } catch (reason) {
    if (AgentError.from(reason).code !== 'not_found') throw reason;
    return leases.create(lease, { timeoutMs: 10_000 });
  }
}

type Texts = Readonly<Record<string, string>>;

interface Applied {
  readonly labels?: Texts;
  readonly annotations?: Texts;
}

/** A strategic merge patch from what is there to what is wanted; absent: nothing differs. */
function threeWayPatch(present: Node, desired: Node): object | undefined {
  const lastStatus = parsed(present, lastAppliedStatusAnnotation) as NodeStatus | undefined;
  const lastMeta = parsed(present, lastAppliedMetaAnnotation) as Applied | undefined;
  const own = ownMeta(desired);
  const annotations = withApplied(own, desired.status ?? {});
  const metadata = {
    ...textsPatch('labels', present.metadata?.labels, own.labels, lastMeta?.labels),
    ...textsPatch('annotations', present.metadata?.annotations, annotations, lastMeta?.annotations),
  };
  const status = mergedStatus(present.status ?? {}, desired.status ?? {}, lastStatus);
  const statusBody = nodeStatusPatch({ ...present }, { ...present, status });
  const hasMetadata = Object.keys(metadata).length > 0;
  if (!statusBody && !hasMetadata) return undefined;
  return { ...statusBody, ...(hasMetadata && { metadata }) };
}

const ownMeta = ({ metadata }: Node): Applied => ({
  ...(metadata?.labels && { labels: metadata.labels }),
  annotations: withoutOwn(metadata?.annotations),
});

/** The annotations of a node with what is written of it: times are not noted, they change with each report. */
function withApplied(own: Applied, { conditions = [], ...stable }: NodeStatus): Texts {
  const applied = { ...stable, conditions: conditions.map(({ type }) => ({ type })) };
  return {
    ...own.annotations,
    [lastAppliedMetaAnnotation]: JSON.stringify(own),
    [lastAppliedStatusAnnotation]: JSON.stringify(applied),
  };
}

function parsed({ metadata }: Node, annotation: string): unknown {
  const text = metadata?.annotations?.[annotation];
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // not ours: then nothing that is there is taken out
  }
}

const withoutOwn = (annotations: Texts = {}): Texts =>
  Object.fromEntries(
    Object.entries(annotations).filter(
      ([name]) => name !== lastAppliedMetaAnnotation && name !== lastAppliedStatusAnnotation,
    ),
  );

function textsPatch(field: string, present: Texts = {}, desired: Texts = {}, last: Texts = {}): object {
  const changed = Object.entries(desired).filter(([name, value]) => present[name] !== value);
  const gone = Object.keys(last).filter(
    (name) => !Object.hasOwn(desired, name) && Object.hasOwn(present, name),
  );
  const entries = [...changed, ...gone.map((name) => [name, null] as const)];
  return entries.length === 0 ? {} : { [field]: Object.fromEntries(entries) };
}

function mergedStatus(present: NodeStatus, desired: NodeStatus, last: NodeStatus | undefined): NodeStatus {
  const merged: Record<string, unknown> = { ...present, ...desired };
  for (const name of Object.keys(last ?? {})) if (!Object.hasOwn(desired, name)) delete merged[name];
  for (const name of ['capacity', 'allocatable'] as const)
    if (desired[name]) {
      const foreign = Object.entries(present[name] ?? {}).filter(
        ([key]) => !Object.hasOwn(last?.[name] ?? {}, key),
      );
      merged[name] = { ...Object.fromEntries(foreign), ...desired[name] };
    }
  merged['conditions'] = mergedConditions(
    present.conditions ?? [],
    desired.conditions ?? [],
    (last?.conditions ?? []).map(({ type }) => type),
  );
  return merged;
}

function mergedConditions(
  present: readonly NodeCondition[],
  desired: readonly NodeCondition[],
  last: readonly string[],
): readonly NodeCondition[] {
  const own = new Set(desired.map(({ type }) => type));
  const foreign = present.filter(({ type }) => !own.has(type) && !last.includes(type));
  const merged = desired.map((condition) => {
    const before = present.find(({ type }) => type === condition.type);
    const since =
      before?.status === condition.status ? before.lastTransitionTime : condition.lastTransitionTime;
    return { ...condition, ...(since !== undefined && { lastTransitionTime: since }) };
  });
  return [...foreign, ...merged];
}

/** The node with the heartbeat of all its conditions now, and a transition time where there is none. */
export function withHeartbeats(node: Node, now: number): Node {
  const at = rfc3339(now);
  const conditions = (node.status?.conditions ?? []).map((condition) => ({
    ...condition,
    lastHeartbeatTime: at,
    lastTransitionTime: condition.lastTransitionTime ?? at,
  }));
  return { ...node, status: { ...node.status, conditions } };
}

/** The node with its Ready condition. */
export function withReady(node: Node, ready: boolean, message: string, now: number): Node {
  const at = rfc3339(now);
  const conditions = node.status?.conditions ?? [];
  const before = conditions.find(({ type }) => type === 'Ready');
  const status = ready ? 'True' : 'False';
  const next: NodeCondition = {
    type: 'Ready',
    status,
    reason: ready ? 'KubeletReady' : 'KubeletNotReady',
    message,
    lastHeartbeatTime: at,
    lastTransitionTime: (before?.status === status ? before.lastTransitionTime : undefined) ?? at,
  };
  const others = conditions.filter(({ type }) => type !== 'Ready');
  return { ...node, status: { ...node.status, conditions: [...others, next] } };
}
