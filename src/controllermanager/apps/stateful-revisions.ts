import { fnv1 } from '../../base/fnv.ts';
import { isAlreadyExists } from '../../api/client.ts';
import { kinds } from '../../controller/kinds.ts';
import { goJson } from '../../go/go-json.ts';
import { controllerReference, isControlledBy, nameOf, namespaceOf, safeText } from '../workload/objects.ts';
import { isRevisionOf, renumber, type RevisionAccess, revisionData } from '../workload/revisions.ts';
import type { ControllerRevision, PodTemplate, StatefulSet } from '../workload/types.ts';
import type { Revision } from './stateful-decisions.ts';

const hashLabel = 'controller.kubernetes.io/hash';
/** The longest part of a set's name in that of a revision, characters. */
const longestPrefix = 223;

/** The revisions of a StatefulSet's template. */
export interface Revisions {
  readonly all: readonly ControllerRevision[];
  /** That of the pods which are not to be updated yet. */
  readonly current: Revision;
  /** That of the template as it is. */
  readonly update: Revision;
  /** How many names of revisions were taken. */
  readonly collisions: number;
}

/** Returns the hash of what a revision records (`HashControllerRevision`). */
export const revisionHash = (data: object, collisions: number): string =>
  safeText(String(fnv1(`${goJson(data)}${collisions}`)));

/** Returns the revisions of a set; that of the template is created if it is new, or becomes the latest again. */
export async function statefulRevisions(set: StatefulSet, access: RevisionAccess): Promise<Revisions> {
  const { client, signal } = access;
  const listed = await client.list(kinds.ControllerRevision, { namespace: namespaceOf(set), signal });
  const all = listed.filter((one) => isControlledBy(one, set)).toSorted((a, b) => a.revision - b.revision);
  const data = revisionData(set.spec?.template);
  const last = all.at(-1);
  const next = (last?.revision ?? 0) + 1;
  const same = all.findLast((one) => isRevisionOf(one, data));
  const [update, collisions] = same
    ? [last === same ? same : await renumber(same, next, access), set.status?.collisionCount ?? 0]
    : await create(set, { data, revision: next }, access);
  const current = all.find((one) => nameOf(one) === set.status?.currentRevision) ?? update;
  return { all, current: revisionOf(current), update: revisionOf(update), collisions };
}

/** Creates a revision; where its name is taken by another one, under the next hash. */
async function create(
  set: StatefulSet,
  recorded: { readonly data: object; readonly revision: number },
  { client, live, signal }: RevisionAccess,
): Promise<readonly [ControllerRevision, number]> {
  for (let collisions = set.status?.collisionCount ?? 0; ; collisions++) {
    const object = newRevision(set, recorded, collisions);
    try {
      return [await client.create(kinds.ControllerRevision, object, { signal }), collisions];
    } catch (reason) {
      if (!isAlreadyExists(reason)) throw reason;
      const key = { namespace: namespaceOf(set), name: nameOf(object) };
      const other = await live.get(kinds.ControllerRevision, key, { signal });
      if (isRevisionOf(other, recorded.data)) return [other, collisions];
    }
  }
}

function newRevision(
  set: StatefulSet,
  { data, revision }: { readonly data: object; readonly revision: number },
  collisions: number,
): ControllerRevision {
  const hash = revisionHash(data, collisions);
  return {
    metadata: {
      namespace: namespaceOf(set),
      name: `${nameOf(set).slice(0, longestPrefix)}-${hash}`,
      labels: { ...set.spec?.template.metadata?.labels, [hashLabel]: hash },
      annotations: { ...set.metadata?.annotations },
      ownerReferences: [controllerReference(set, kinds.StatefulSet)],
    },
    data,
    revision,
  };
}

const revisionOf = (one: ControllerRevision): Revision => ({ name: nameOf(one), template: templateOf(one) });

function templateOf({ data }: ControllerRevision): PodTemplate | undefined {
  const { spec } = data as {
    readonly spec?: { readonly template?: PodTemplate & { readonly $patch?: string } };
  };
  if (!spec?.template) return undefined;
  const { $patch: _patch, ...template } = spec.template;
  return template;
}
