import { createdMs, isDeleted, nameOf, scaledValue } from '../workload/objects.ts';
import { isAvailable, isReady } from '../workload/pods.ts';
import { revisionLabel } from '../workload/revisions.ts';
import type { DaemonSet, Node, Pod } from '../workload/types.ts';
import { generationLabel, nodeFit, targetNode, templateGeneration } from './daemon-nodes.ts';

/** What a decision about a DaemonSet is made of. */
export interface DaemonView {
  readonly nodes: readonly Node[];
  /** The pods of the set by the node that they are on or for. */
  readonly pods: ReadonlyMap<string, readonly Pod[]>;
  /** The hash of the present template. */
  readonly hash: string;
  readonly now: number;
}

/** Pods to create and delete. */
export interface DaemonPlan {
  /** Names of the nodes that get a pod. */
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
}

/** What keeps one pod on each node. */
export interface DaemonUpkeep extends DaemonPlan {
  /** Pods of `remove` that have failed, and those that have succeeded. */
  readonly failed: readonly Pod[];
  readonly succeeded: readonly Pod[];
  /** After how many ms a failed pod that waits may be replaced. */
  readonly after?: number;
}

const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** Groups pods by node; those without one, and deleted ones that have ended, are left out. */
export function byNode(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const groups = new Map<string, Pod[]>();
  for (const pod of pods) {
    const node = targetNode(pod);
    if (node === undefined || (hasEnded(pod) && isDeleted(pod))) continue;
    groups.set(node, [...(groups.get(node) ?? []), pod]);
  }
  return groups;
}

const isScheduled = ({ spec }: Pod): boolean => (spec?.nodeName ?? '') !== '';

/** Scheduled pods first, then by age. */
const byAge = (one: Pod, other: Pod): number =>
  Number(isScheduled(other)) - Number(isScheduled(one)) ||
  createdMs(one) - createdMs(other) ||
  (nameOf(one) < nameOf(other) ? -1 : 1);

const surgeOf = ({ spec }: DaemonSet, desired: number): number =>
  spec?.updateStrategy?.type === 'RollingUpdate'
    ? scaledValue(spec.updateStrategy.rollingUpdate?.maxSurge, desired, 'up')
    : 0;

/** Reports whether a pod is of the present template. */
const isUpdated = (set: DaemonSet, { metadata }: Pod, hash: string): boolean => {
  const generation = templateGeneration(set);
  return (
    metadata?.labels?.[revisionLabel] === hash ||
    (generation !== undefined && metadata?.labels?.[generationLabel] === generation)
  );
};

/**
 * Returns which nodes need a pod and which pods must go: failed ones, those in excess, and those on nodes that do not fit (`manage`).
 *
 * @param waitOf how many ms the replacement of a failed pod on a node has to wait
 */
export function planUpkeep(set: DaemonSet, view: DaemonView, waitOf: (node: string) => number): DaemonUpkeep {
  const create: string[] = [];
  const [remove, failed, succeeded]: [Pod[], Pod[], Pod[]] = [[], [], []];
  let after = Infinity;
  for (const node of view.nodes) {
    const name = nameOf(node);
    const pods = view.pods.get(name);
    const { runs, stays } = nodeFit(set, node);
    if (!pods) {
      if (runs) create.push(name);
      continue;
    }
    const alive = pods.filter((pod) => !isDeleted(pod));
    if (!stays) {
      remove.push(...alive);
      continue;
    }
    succeeded.push(...alive.filter(({ status }) => status?.phase === 'Succeeded'));
    const broken = alive.filter(({ status }) => status?.phase === 'Failed');
    const wait = broken.length > 0 ? waitOf(name) : 0;
    if (wait > 0) after = Math.min(after, wait);
    else failed.push(...broken);
    const running = alive.filter((pod) => !hasEnded(pod)).sort(byAge);
    if (surgeOf(set, 1) === 0) remove.push(...running.slice(1));
    else if (running.length > 0) remove.push(...surplus(set, running, view));
    else if (runs) create.push(name);
  }
  remove.push(...failed, ...succeeded, ...homeless(view));
  return { create, remove, failed, succeeded, ...(after < Infinity && { after }) };
}

/** Of a node's pods an old and a new one may stay, as long as the old one is ready and the new one is not available yet. */
function surplus({ spec }: DaemonSet, running: readonly Pod[], { hash, now }: DaemonView): readonly Pod[] {
  const isNew = ({ metadata }: Pod): boolean => metadata?.labels?.[revisionLabel] === hash;
  const fresh = running.find(isNew);
  const old = running.find((pod) => !isNew(pod));
  const rest = running.filter((pod) => pod !== fresh && pod !== old);
  if (!fresh || !old || running.length < 2) return rest;
  const isReplaced = !isReady(old) || isAvailable(fresh, spec?.minReadySeconds ?? 0, now);
  return isReplaced ? [...rest, old] : rest;
}

/** Pods for nodes that do not exist are never scheduled, so that no other controller deletes them. */
const homeless = ({ nodes, pods }: DaemonView): readonly Pod[] => {
  const names = new Set(nodes.map(nameOf));
  return [...pods].flatMap(([node, own]) =>
    names.has(node) ? [] : own.filter((pod) => !isScheduled(pod) && !isDeleted(pod)),
  );
};

interface OnNode {
  readonly node: string;
  readonly fresh?: Pod;
  readonly old?: Pod;
  /** True when there is more than one old or new pod: the upkeep ends that. */
  readonly crowded: boolean;
}

function onNode(set: DaemonSet, node: string, pods: readonly Pod[], hash: string): OnNode {
  const alive = pods.filter((pod) => !isDeleted(pod));
  const [fresh, ...moreNew] = alive.filter((pod) => isUpdated(set, pod, hash));
  const [old, ...moreOld] = alive.filter((pod) => !isUpdated(set, pod, hash));
  const crowded = moreNew.length + moreOld.length > 0;
  return { node, crowded, ...(fresh && { fresh }), ...(old && { old }) };
}

/** Returns the next step of a rolling update. */
export function planRolling(set: DaemonSet, view: DaemonView): DaemonPlan {
  const fits = new Set(view.nodes.filter((node) => nodeFit(set, node).runs).map(nameOf));
  const desired = fits.size;
  const all = [...new Set([...view.pods.keys(), ...fits])].map((node) =>
    onNode(set, node, view.pods.get(node) ?? [], view.hash),
  );
  const available = (pod: Pod): boolean => isAvailable(pod, set.spec?.minReadySeconds ?? 0, view.now);
  const surge = surgeOf(set, desired);
  if (surge > 0) return surgeStep(all, { surge, fits, desired, available });
  const limit = set.spec?.updateStrategy?.rollingUpdate?.maxUnavailable;
  const most = scaledValue(limit, desired, 'up') || 1;
  return { create: [], remove: unavailableStep(all, most, available) };
}

/** Old pods that are not available go at once, others as far as nodes may be without an available pod. */
function unavailableStep(
  all: readonly OnNode[],
  most: number,
  available: (pod: Pod) => boolean,
): readonly Pod[] {
  const replaced: Pod[] = [];
  const candidates: Pod[] = [];
  let unavailable = 0;
  for (const { fresh, old, crowded } of all) {
    if (crowded || Boolean(fresh) === Boolean(old)) unavailable++;
    else if (fresh) unavailable += available(fresh) ? 0 : 1;
    else if (old && available(old)) candidates.push(old);
    else if (old) {
      replaced.push(old);
      unavailable++;
    }
  }
  return [...replaced, ...candidates.slice(0, Math.max(0, most - unavailable))];
}

interface Surge {
  readonly surge: number;
  /** Names of the nodes that get a pod. */
  readonly fits: ReadonlySet<string>;
  readonly desired: number;
  readonly available: (pod: Pod) => boolean;
}

/** New pods are created beside the old ones, which go when their successor is available. */
function surgeStep(all: readonly OnNode[], { surge, fits, desired, available }: Surge): DaemonPlan {
  const orderly = all.filter(({ crowded }) => !crowded);
  const pairs = orderly.flatMap(({ fresh, old }) => (fresh && old ? [{ fresh, old }] : []));
  const replaced = pairs.filter(({ fresh }) => available(fresh));
  const surging = all.length - orderly.length + pairs.length - replaced.length;
  const lone = orderly.flatMap(({ node, fresh, old }) => (old && !fresh ? [{ node, old }] : []));
  const nodesOf = (isUp: boolean): readonly string[] =>
    lone.filter(({ node, old }) => fits.has(node) && available(old) === isUp).map(({ node }) => node);
  const misplaced = (isUp: boolean): readonly Pod[] =>
    lone.filter(({ node, old }) => !fits.has(node) && available(old) === isUp).map(({ old }) => old);
  const running = orderly.filter(({ fresh, old }) => {
    const counted = old ?? fresh;
    return counted !== undefined && available(counted);
  }).length;
  return {
    create: [...nodesOf(false), ...nodesOf(true).slice(0, Math.max(0, surge - surging))],
    remove: [
      ...replaced.map(({ old }) => old),
      ...misplaced(false),
      ...misplaced(true).slice(0, Math.max(0, running - desired)),
    ],
  };
}

type Status = NonNullable<DaemonSet['status']>;

/** Returns the status of a DaemonSet. */
export function daemonStatus(set: DaemonSet, { nodes, pods, hash, now }: DaemonView): Status {
  const fitting = nodes.filter((node) => nodeFit(set, node).runs);
  const oldest = fitting.flatMap((node) => pods.get(nameOf(node))?.toSorted(byAge)[0] ?? []);
  const available = oldest.filter((pod) => isAvailable(pod, set.spec?.minReadySeconds ?? 0, now)).length;
  const { collisionCount, conditions } = set.status ?? {};
  return {
    desiredNumberScheduled: fitting.length,
    currentNumberScheduled: oldest.length,
    numberMisscheduled: nodes.filter((node) => !fitting.includes(node) && pods.has(nameOf(node))).length,
    numberReady: oldest.filter(isReady).length,
    updatedNumberScheduled: oldest.filter((pod) => isUpdated(set, pod, hash)).length,
    numberAvailable: available,
    numberUnavailable: fitting.length - available,
    observedGeneration: set.metadata?.generation ?? 0,
    ...(collisionCount !== undefined && { collisionCount }),
    ...(conditions && { conditions }),
  };
}
