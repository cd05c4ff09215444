import { canonicalJson } from '../../apimachinery/json.ts';
import { ignoreNotFound } from '../../controller/client/errors.ts';
import { rawPatch } from '../../controller/client/patches.ts';
import { kinds } from '../../controller/kinds.ts';
import type { Client, Reader } from '../../controller/types.ts';
import type { ControllerRevision, PodTemplate } from './types.ts';

/** Label of pods: the revision of the template that they were made from. */
export const revisionLabel = 'controller-revision-hash';

/** How revisions are read and written. */
export interface RevisionAccess {
  readonly client: Client;
  /** Reads from the API server. */
  readonly live: Reader;
  readonly signal: AbortSignal;
}

/**
 * Returns what a revision of a template records: a patch that sets it, which `kubectl rollout undo` applies. Its keys are sorted, since
 * kube-apiserver compares the text: it sorts them at the next patch of the revision, and refuses data that is another then.
 */
export const revisionData = (template: PodTemplate | undefined): object =>
  JSON.parse(canonicalJson({ spec: { template: { ...template, $patch: 'replace' } } })) as object;

/** Reports whether a revision records this data. */
export const isRevisionOf = (revision: ControllerRevision, data: object): boolean =>
  canonicalJson(revision.data) === canonicalJson(data);

/** Gives a revision another number, as the latest one has the highest. */
export const renumber = (
  revision: ControllerRevision,
  number: number,
  { client, signal }: RevisionAccess,
): Promise<ControllerRevision> =>
  client.patch(kinds.ControllerRevision, revision, rawPatch('merge', { revision: number }), { signal });

/** Deletes a revision unless it is gone. */
export async function deleteRevision(
  revision: ControllerRevision,
  { client, signal }: Pick<RevisionAccess, 'client' | 'signal'>,
): Promise<void> {
  await client.delete(kinds.ControllerRevision, revision, { signal }).catch(ignoreNotFound);
}
