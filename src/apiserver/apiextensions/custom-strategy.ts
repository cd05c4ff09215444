import { ownMember, setOwn } from '../../base/own.ts';
import {
  type JsonObject,
  listAt,
  metadataOf,
  objectAt,
  sameJson,
  textOf,
  valueAt,
  without,
  withMetadata,
} from '../../apimachinery/json.ts';
import { fault, type FieldFault, qualified, StatusError } from '../../apimachinery/status-error.ts';
import { bump } from '../registry/deletion.ts';
import { validateMetadata } from '../registry/metadata-rules.ts';
import type { Strategy, UpdateRules } from '../registry/strategy.ts';
import type { WriteContext } from '../request/write-context.ts';
import { customPrinter } from './custom-columns.ts';
import type { CustomKind } from './custom-kinds.ts';
import { type Conversions, storedVersionOf, withoutVersion } from './conversions.ts';
import { definitionKind } from './definition-strategy.ts';
import { embeddedFaults } from './embedded-rules.ts';
import { repeatedItems } from './list-rules.ts';
import { evaluateRules } from './rule-evaluation.ts';
import { hasRules } from './structural-rules.ts';
import { scaleFaults } from './scale-rules.ts';
import { propertyOf, pruned, type Structural, withSchemaDefaults } from './structural.ts';
import { valueFaults } from './value-rules.ts';

const content = (object: JsonObject): JsonObject => without(object, 'metadata', 'apiVersion', 'kind');

/** The object with another status, or without one. */
const withStatus = (object: JsonObject, status: unknown): JsonObject => {
  const rest = without(object, 'status');
  if (status !== undefined) setOwn(rest, 'status', status);
  return rest;
};

/** The object by another schema than it was written by. */
const shaped = (object: JsonObject, schema: Structural): JsonObject =>
  withSchemaDefaults(pruned(object, schema, [], { isResource: true }), schema) as JsonObject;

/** Rules of the resource itself: everything counts but the metadata, and the status where that has a door of its own. */
function mainRules(hasStatus: boolean): UpdateRules {
  return {
    reset: hasStatus ? [['f:status']] : [],
    prepare(object, old) {
      const next = hasStatus ? withStatus(object, ownMember(old, 'status')) : object;
      return sameJson(content(next), content(old)) ? next : withMetadata(next, bump(old));
    },
  };
}

/** Rules of the status: nothing else changes, labels and annotations neither. */
const statusRules: UpdateRules = {
  reset: [['f:apiVersion'], ['f:kind'], ['f:metadata'], ['f:spec']],
  prepare: (object, old) =>
    withStatus(
      withMetadata(old, { managedFields: objectAt(object, 'metadata')['managedFields'] }),
      ownMember(object, 'status'),
    ),
};

/** @throws {StatusError} 405 where the definition is on its way out */
function checkServing({ group, resource }: CustomKind['kind'], { world }: WriteContext): void {
  const definition = world.store.get(definitionKind.storage, `${resource}.${group}`)?.object;
  if (valueAt(definition, 'metadata', 'deletionTimestamp') === undefined) return;
  throw new StatusError(
    405,
    'MethodNotAllowed',
    `create is not supported on resources of kind ${JSON.stringify(qualified(resource, group))}`,
    { details: { group, kind: resource } },
  );
}

/** Returns an object as it is stored: by the schema of that version. */
export const storedShape = (custom: CustomKind, object: JsonObject): JsonObject =>
  custom.storageSchema ? shaped(object, custom.storageSchema) : object;

/** Faults that keep rules from being evaluated. */
const blocking = new Set<FieldFault['reason']>([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);
const notChecked = fault.invalid(
  '<nil>',
  null,
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
);

/** What of an object is judged: all of it, or its status where that is written. */
interface Judged {
  readonly old?: JsonObject;
  readonly part?: 'all' | 'status';
}

/** Faults of the metadata, which are reported with those of all kinds, also keep rules from being evaluated. */
const isBlocked = (object: JsonObject, { kind }: CustomKind, faults: readonly FieldFault[]): boolean =>
  [...validateMetadata(object, kind), ...faults].some(({ reason }) => blocking.has(reason));

/** Returns what of the values breaks their schema. A status is judged by its part of the schema. */
function schemaFaults(
  object: JsonObject,
  { schema }: CustomKind,
  { old, part }: Judged,
): readonly FieldFault[] {
  if (part !== 'status') return valueFaults(object, schema, { old });
  const [status, of] = [ownMember(object, 'status'), propertyOf(schema, 'status')];
  const standing = old && ownMember(old, 'status');
  // a null where nothing stood counts as unchanged
  if (status === undefined || !of || (status === null && standing === undefined)) return [];
  return valueFaults(status, of, { old: standing, prefix: 'status' });
}

/** What of an object breaks its schema, or the rules of the schema. */
function objectFaults(
  object: JsonObject,
  custom: CustomKind,
  { warnings }: WriteContext,
  judged: Judged = {},
): readonly FieldFault[] {
  const { schema, scale } = custom;
  const { old, part = 'all' } = judged;
  const faults = [
    ...schemaFaults(object, custom, judged),
    ...(scale ? scaleFaults(object, scale, part) : []),
    ...(part === 'all' ? embeddedFaults(object, schema) : []),
    ...listFaults(object, schema, old),
  ];
  if (!hasRules(schema)) return faults;
  if (isBlocked(object, custom, faults)) return [...faults, notChecked];
  const found = evaluateRules(object, schema, { old });
  warnings.push(...found.warnings);
  return [...faults, ...found.faults];
}

/** Returns the repeated items of sets and list maps, unless the standing object has some already. */
function listFaults(object: JsonObject, schema: Structural, old?: JsonObject): readonly FieldFault[] {
  const repeated = repeatedItems(object, schema);
  return repeated.length > 0 && old && repeatedItems(old, schema).length > 0 ? [] : repeated;
}

const usualFinalizers = ['orphan', 'foregroundDeletion', 'kubernetes'];

/** Returns warnings about new finalizers whose names may collide with others'. Follows apiextensions-apiserver `validateKubeFinalizerName` (v1.36). */
function finalizerWarnings(object: JsonObject, old?: JsonObject): readonly string[] {
  const finalizersOf = (one: JsonObject | undefined): readonly string[] =>
    listAt(metadataOf(one), 'finalizers').map(textOf);
  const before = finalizersOf(old);
  return [...new Set(finalizersOf(object))]
    .filter((name) => !before.includes(name) && !name.includes('/') && !usualFinalizers.includes(name))
    .sort()
    .map(
      (name) =>
        `metadata.finalizers: ${JSON.stringify(name)}: prefer a domain-qualified finalizer name ${name.includes('.') ? 'including a path (/) ' : ''}to avoid accidental conflicts with other finalizer writers`,
    );
}

/**
 * The rules of a custom resource. Follows apiextensions-apiserver's `customResourceStrategy`.
 *
 * @param conversions of one request, for a kind that a webhook converts; without them, its objects are as they are stored
 */
export function customStrategy(custom: CustomKind, conversions?: Conversions): Strategy {
  const { kind, schema, versions } = custom;
  const hasStatus = kind.subresources.some((sub) => sub.name === 'status');
  const served = new WeakMap<JsonObject, JsonObject>();
  const validateBy =
    (part: 'all' | 'status'): NonNullable<UpdateRules['validate']> =>
    (object, old, context) =>
      objectFaults(object, custom, context, { old, part });
  return {
    kind,
    defaults: (object) => withSchemaDefaults(object, schema) as JsonObject,
    appliedDefaults: (object) => withSchemaDefaults(object, schema, { keepsNulls: true }) as JsonObject,
    prepareCreate(object, context) {
      checkServing(kind, context);
      return withMetadata(hasStatus ? withStatus(object, undefined) : object, { generation: 1 });
    },
    validateCreate: (object, context) => objectFaults(object, custom, context),
    warnings: (object) => finalizerWarnings(object),
    createReset: hasStatus ? [['f:status']] : [],
    main: { ...mainRules(hasStatus), validate: validateBy('all'), warnings: finalizerWarnings },
    subresources: hasStatus ? { status: { ...statusRules, validate: validateBy('status') } } : {},
    createOnUpdate: false,
    unconditionalUpdate: false,
    deleteReturnsObject: false,
    printer: customPrinter(custom.columns),
    fromStorage(object) {
      const cached = served.get(object);
      if (cached) return cached;
      const plain = conversions?.up(object) ?? withoutVersion(object);
      const now = shaped(plain, schema);
      const same = sameJson(now, plain) ? plain : now;
      served.set(object, same);
      return same;
    },
    toStorage(object) {
      const stored = storedShape(custom, conversions?.down(object) ?? object);
      return versions.isNamed ? { ...stored, apiVersion: versions.current } : stored;
    },
    isCurrent: (stored) => storedVersionOf(stored, versions) === versions.current,
    ...(conversions && { conversion: conversions }),
  };
}
