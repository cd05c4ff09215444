import { isAlreadyExists } from '../../api/client.ts';
import { rawPatch } from '../../controller/client/patches.ts';
import { kinds } from '../../controller/kinds.ts';
import type { Client } from '../../controller/types.ts';
import { claim, selectorOf } from '../workload/claim.ts';
import { controllerReference, nameOf, namespaceOf } from '../workload/objects.ts';
import {
  deleteRevision,
  isRevisionOf,
  renumber,
  type RevisionAccess,
  revisionData,
  revisionLabel,
} from '../workload/revisions.ts';
import { templateHash } from '../workload/template-hash.ts';
import type { ControllerRevision, DaemonSet, Pod } from '../workload/types.ts';

/** The revisions of a DaemonSet's template. */
export interface DaemonRevisions {
  readonly current: ControllerRevision;
  readonly old: readonly ControllerRevision[];
}

export const hashOfRevision = ({ metadata }: ControllerRevision): string =>
  metadata?.labels?.[revisionLabel] ?? '';

/** Returns the revisions; that of the present template is created, or gets the highest number again (`constructHistory`). */
export async function daemonRevisions(set: DaemonSet, access: RevisionAccess): Promise<DaemonRevisions> {
  const { client, live, signal } = access;
  const namespace = namespaceOf(set);
  const all = await claim(
    kinds.ControllerRevision,
    await client.list(kinds.ControllerRevision, { namespace, signal }),
    { client, live, owner: set, ownerKind: kinds.DaemonSet, selects: selectorOf(set.spec?.selector), signal },
  );
  const data = revisionData(set.spec?.template);
  const same = all.filter((one) => isRevisionOf(one, data)).toSorted((a, b) => a.revision - b.revision);
  const old = all.filter((one) => !same.includes(one));
  const next = 1 + Math.max(0, ...old.map(({ revision }) => revision));
  const current = same.at(-1);
  if (!current) return { current: await snapshot(set, { data, revision: next }, access), old };
  await removeDoubles(set, current, same.slice(0, -1), access);
  if (current.revision >= next) return { current, old };
  return { current: await renumber(current, next, access), old };
}

async function snapshot(
  set: DaemonSet,
  { data, revision }: { readonly data: object; readonly revision: number },
  access: RevisionAccess,
): Promise<ControllerRevision> {
  const hash = templateHash(set.spec?.template, set.status?.collisionCount);
  const { annotations } = set.metadata ?? {};
  const object: ControllerRevision = {
    metadata: {
      namespace: namespaceOf(set),
      name: `${nameOf(set)}-${hash}`,
      labels: { ...set.spec?.template.metadata?.labels, [revisionLabel]: hash },
      ...(annotations && { annotations }),
      ownerReferences: [controllerReference(set, kinds.DaemonSet)],
    },
    data,
    revision,
  };
  try {
    return await access.client.create(kinds.ControllerRevision, object, { signal: access.signal });
  } catch (reason) {
    if (!isAlreadyExists(reason)) throw reason;
    return taken(set, object, { reason, access });
  }
}

/** A revision of that name exists: it is the same one, or a collision of hashes, which is counted so that the next hash differs. */
async function taken(
  set: DaemonSet,
  revision: ControllerRevision,
  { reason, access }: { readonly reason: unknown; readonly access: RevisionAccess },
): Promise<ControllerRevision> {
  const { client, live, signal } = access;
  const key = { namespace: namespaceOf(set), name: nameOf(revision) };
  const existing = await live.get(kinds.ControllerRevision, key, { signal });
  if (isRevisionOf(existing, revision.data as object)) return existing;
  const fresh = await live.get(
    kinds.DaemonSet,
    { namespace: namespaceOf(set), name: nameOf(set) },
    { signal },
  );
  const count = set.status?.collisionCount ?? 0;
  if ((fresh.status?.collisionCount ?? 0) === count && fresh.status)
    await client.status.update(
      kinds.DaemonSet,
      { ...fresh, status: { ...fresh.status, collisionCount: count + 1 } },
      { signal },
    );
  throw reason;
}

/** Deletes revisions of the same template, after their pods have the label of the one that stays. */
async function removeDoubles(
  set: DaemonSet,
  current: ControllerRevision,
  doubles: readonly ControllerRevision[],
  { client, signal }: RevisionAccess,
): Promise<void> {
  if (doubles.length === 0) return;
  const hashes = new Set(doubles.map(hashOfRevision));
  const pods = await client.list(kinds.Pod, { namespace: namespaceOf(set), signal });
  const body = { metadata: { labels: { [revisionLabel]: hashOfRevision(current) } } };
  for (const pod of pods.filter(selectorOf(set.spec?.selector)))
    if (hashes.has(pod.metadata?.labels?.[revisionLabel] ?? ''))
      await client.patch(kinds.Pod, pod, rawPatch('merge', body), { signal });
  for (const one of doubles) await client.delete(kinds.ControllerRevision, one, { signal });
}

/** Returns the revisions to delete: beyond the history limit the oldest that no pod has. */
export function expiredRevisions(
  { spec }: DaemonSet,
  old: readonly ControllerRevision[],
  pods: readonly Pod[],
): readonly ControllerRevision[] {
  const excess = old.length - (spec?.revisionHistoryLimit ?? 10);
  if (excess <= 0) return [];
  const live = new Set(pods.map(({ metadata }) => metadata?.labels?.[revisionLabel]));
  return old
    .filter((one) => !live.has(hashOfRevision(one)))
    .toSorted((a, b) => a.revision - b.revision)
    .slice(0, excess);
}

/** Deletes revisions beyond the history limit. */
export async function cleanUpRevisions(
  set: DaemonSet,
  { old }: DaemonRevisions,
  {
    pods,
    client,
    signal,
  }: { readonly pods: readonly Pod[]; readonly client: Client; readonly signal: AbortSignal },
): Promise<void> {
  for (const one of expiredRevisions(set, old, pods)) await deleteRevision(one, { client, signal });
}
