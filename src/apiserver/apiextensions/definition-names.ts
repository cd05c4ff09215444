import { conditionOf } from '../../apimachinery/conditions.ts';
import { setOwn } from '../../base/own.ts';
import { withCondition } from '../../apimachinery/conditions.ts';
import { type JsonObject, listAt, objectAt, objectsAt, sameJson, stringAt } from '../../apimachinery/json.ts';
import { seconds } from '../../apimachinery/times.ts';

type Condition = JsonObject & { readonly type: string; readonly status: string };

const specOf = (definition: JsonObject): JsonObject => objectAt(definition, 'spec');
const acceptedOf = (definition: JsonObject): JsonObject =>
  objectAt(objectAt(definition, 'status'), 'acceptedNames');

/** True when the definition's resources are served. */
export const isEstablished = (definition: JsonObject): boolean =>
  conditionOf(definition, 'Established')?.['status'] === 'True';

/** Names of a group that definitions have been given: of resources, and of kinds. */
interface Taken {
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

function takenBy(others: readonly JsonObject[], group: string): Taken {
  const names = others.filter((one) => specOf(one)['group'] === group).map(acceptedOf);
  return {
    resources: new Set(
      names.flatMap((one) => [
        stringAt(one, 'plural'),
        stringAt(one, 'singular'),
        ...(listAt(one, 'shortNames') as readonly string[]),
      ]),
    ),
    kinds: new Set(names.flatMap((one) => [stringAt(one, 'kind'), stringAt(one, 'listKind')])),
  };
}

const inUse = (name: string): string => `${JSON.stringify(name)} is already in use`;

/** Names as they are accepted, and the last conflict that was found. */
interface Outcome {
  readonly names: JsonObject;
  readonly conflict?: { readonly reason: string; readonly message: string };
}

function accept(definition: JsonObject, { resources, kinds }: Taken): Outcome {
  const requested = objectAt(specOf(definition), 'names');
  const names: Record<string, unknown> = { ...acceptedOf(definition) };
  let conflict: Outcome['conflict'];
  const settle = (key: string, reserved: ReadonlySet<string>, reason: string): void => {
    const name = stringAt(requested, key);
    if (name !== stringAt(names, key) && reserved.has(name)) conflict = { reason, message: inUse(name) };
    else setOwn(names, key, name);
  };
  settle('plural', resources, 'PluralConflict');
  settle('singular', resources, 'SingularConflict');
  const before = listAt(names, 'shortNames');
  const used = (listAt(requested, 'shortNames') as readonly string[]).filter(
    (name) => !before.includes(name) && resources.has(name),
  );
  if (used.length > 0) {
    const texts = used.map(inUse);
    const message = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
    conflict = { reason: 'ShortNamesConflict', message };
  } else names['shortNames'] = requested['shortNames'];
  settle('kind', kinds, 'KindConflict');
  settle('listKind', kinds, 'ListKindConflict');
  names['categories'] = requested['categories'];
  const { shortNames, categories, ...always } = names;
  const all = {
    ...always,
    ...(shortNames !== undefined && { shortNames }),
    ...(categories !== undefined && { categories }),
  };
  return { names: all, ...(conflict && { conflict }) };
}

/**
 * The definition with the names that it may have beside the others of its group, and the conditions that say so: names that are in use are
 * refused by `NamesAccepted`, and what was once established stays so. Follows the naming and establishing controllers of apiextensions-apiserver.
 *
 * @param others every other definition
 * @param now ms since epoch
 */
export function withAcceptedNames(
  definition: JsonObject,
  others: readonly JsonObject[],
  now: number,
): JsonObject {
  const { names, conflict } = accept(definition, takenBy(others, stringAt(specOf(definition), 'group')));
  const time = seconds(now);
  const accepted: Condition = conflict
    ? { message: conflict.message, reason: conflict.reason, status: 'False', type: 'NamesAccepted' }
    : { message: 'no conflicts found', reason: 'NoConflicts', status: 'True', type: 'NamesAccepted' };
  const established: Condition = conflict
    ? { message: 'not all names are accepted', reason: 'NotAccepted', status: 'False', type: 'Established' }
    : {
        message: 'the initial names have been accepted',
        reason: 'InitialNamesAccepted',
        status: 'True',
        type: 'Established',
      };
  const status = objectAt(definition, 'status');
  const named = withCondition(objectsAt(status, 'conditions'), { lastTransitionTime: time, ...accepted });
  const conditions = isEstablished(definition)
    ? named
    : withCondition(named, { lastTransitionTime: time, ...established });
  const next = { ...status, acceptedNames: names, conditions };
  return sameJson(next, status) ? definition : { ...definition, status: next };
}
