import { createHash } from 'node:crypto';
import type { Pod } from '../../kube/types.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { EciValue } from './api.ts';
import { type EciContainerGroup, tagOf } from './container-group.ts';

/** Whose container groups are meant: those of one node of one cluster. Groups of others in the account are never touched. */
export interface EciOwner {
  readonly clusterName: string;
  readonly nodeName: string;
}

/** Which pod a group runs, by its tags. The names are those of the reference provider, so that its groups are taken over. */
export interface GroupIdentity {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

/** The value of the tag `ManagedBy`. */
const managedBy = 'podtender';

/** ownerTags are the tags by which the service filters listings to this node's groups. */
export const ownerTags = ({ clusterName, nodeName }: EciOwner): readonly EciValue[] => [
  { Key: 'ClusterName', Value: clusterName },
  { Key: 'NodeName', Value: nodeName },
];

/** podTags are the tags of a pod's group. */
export function podTags(owner: EciOwner, pod: Pod): readonly EciValue[] {
  const created = pod.metadata?.creationTimestamp;
  const at = created === undefined ? '' : new Date(created).toISOString().slice(0, 19).replaceAll(':', '-');
  return [
    ...ownerTags(owner),
    { Key: 'NameSpace', Value: namespaceOf(pod) },
    { Key: 'PodName', Value: nameOf(pod) },
    { Key: 'UID', Value: uidOf(pod) },
    ...(at === '' ? [] : [{ Key: 'CreationTimestamp', Value: `${at}Z` }]),
    { Key: 'ManagedBy', Value: managedBy },
  ];
}

/**
 * identityOf tells which pod of `owner` a group runs; undefined for groups of others and for groups without a UID. A missing cluster tag
 * counts as `default`, as with the reference provider. The service filters by tags too, but a filter that it ignores must not make a
 * stranger's group ours.
 */
export function identityOf(
  group: EciContainerGroup,
  { clusterName, nodeName }: EciOwner,
): GroupIdentity | undefined {
  if (tagOf(group, 'NodeName') !== nodeName) return undefined;
  if ((tagOf(group, 'ClusterName') ?? 'default') !== clusterName) return undefined;
  const uid = tagOf(group, 'UID') ?? '';
  if (uid === '') return undefined;
  return { uid, name: tagOf(group, 'PodName') ?? '', namespace: tagOf(group, 'NameSpace') ?? '' };
}

/** The longest name of a group. */
const longestName = 128;

/** groupName is `namespace-name`, shortened with a hash where it would be too long. It names the group for people; it is never looked up. */
export function groupName(pod: Pod): string {
  const name = `${namespaceOf(pod)}-${nameOf(pod)}`.replace(/[^a-z0-9-]/g, '-');
  if (name.length <= longestName) return name;
  return `${name.slice(0, longestName - 9)}-${sha256(name).slice(0, 8)}`;
}

/**
 * clientToken is the idempotency token of a creation: the same attempt for the same pod always has the same, so that a repeated request makes
 * no second group, also after a restart of the agent.
 *
 * @param attempt grows when a group of the pod has ended and another is to be made
 */
export const clientToken = ({ clusterName, nodeName }: EciOwner, uid: string, attempt: number): string =>
  sha256([clusterName, nodeName, uid, String(attempt)].join('/')).slice(0, 64);

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
