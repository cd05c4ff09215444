import type { FieldError } from '../../kube/validation/field-error.ts';
import { type JsonObject, metadataOf, sameJson, withMetadata } from '../../apimachinery/json.ts';
import { ownMember } from '../../base/own.ts';
import { structOf } from '../../apimachinery/api-types.ts';
import { meaningOf } from '../../apimachinery/semantic-equality.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import type { ResetFields } from '../../apimachinery/managed-fields/managed-fields.ts';
import { causeOf, type FieldFault } from '../../apimachinery/status-error.ts';
import { bump } from './deletion.ts';
import { withEmpties } from './empties.ts';
import { validateMetadata, validateMetadataUpdate } from './metadata-rules.ts';
import { commonStrategy, mainRules, specPaths } from './strategies.ts';
import type { Strategy, UpdateRules } from './strategy.ts';
import type { WriteContext } from '../request/write-context.ts';

/** KindRules holds what is particular to one kind; {@link strategyOf} makes its strategy. */
export interface KindRules {
  /** Sets the defaults of a decoded object. */
  readonly defaults?: (object: JsonObject) => JsonObject;
  /** Sets and drops fields before validation; `old` is absent for a new object. */
  readonly prepare?: (object: JsonObject, old: JsonObject | undefined, context: WriteContext) => JsonObject;
  /** Returns the part of an object whose changes the generation counts; absent: all but metadata and status, where the kind has a generation. */
  readonly counted?: (object: JsonObject) => unknown;
  /** Yields the errors of an object besides its metadata; `old` is absent for a new one. */
  readonly faults?: (object: JsonObject, old: JsonObject | undefined) => Iterable<FieldError>;
  /** How often an update validates the metadata besides the common checks. Default: their changes, once. */
  readonly metadataChecks?: MetadataChecks;
  readonly warnings?: (object: JsonObject, old: JsonObject | undefined) => readonly string[];
  readonly status?: StatusRules;
}

/** Validations of the metadata in an update: of what changed, and of the whole as in a creation. Each reports its faults. */
export type MetadataChecks = readonly ('changes' | 'whole')[];

/** StatusRules holds what is particular to a kind's status subresource. */
export interface StatusRules {
  readonly faults?: (object: JsonObject, old: JsonObject) => Iterable<FieldError>;
  readonly metadataChecks?: MetadataChecks;
  /** Members of the metadata that a status update leaves unchanged, or all of them. Default none. */
  readonly frozenMetadata?: readonly string[] | 'all';
  /** Sets and drops fields before validation. */
  readonly prepare?: (object: JsonObject, old: JsonObject) => JsonObject;
  readonly warnings?: (object: JsonObject) => readonly string[];
}

const causes = (errors: Iterable<FieldError> | undefined): readonly FieldFault[] =>
  [...(errors ?? [])].map(causeOf);

const metadataFaults = (
  object: JsonObject,
  old: JsonObject,
  kind: Kind,
  checks: MetadataChecks = ['changes'],
): readonly FieldFault[] =>
  checks.flatMap((check) =>
    check === 'whole' ? validateMetadata(object, kind) : validateMetadataUpdate(object, old, kind),
  );

/** Returns the strategy of a kind by its own rules, and by the common ones for the rest. */
export function strategyOf(kind: Kind, rules: KindRules): Strategy {
  const common = commonStrategy(kind);
  const { defaults, prepare, counted, faults, warnings, status } = rules;
  const hasStatus = Object.hasOwn(common.subresources, 'status');
  return {
    ...common,
    ...(defaults && { defaults }),
    prepareCreate(object, context) {
      const bare = common.prepareCreate(object, context);
      const next = prepare?.(bare, undefined, context) ?? bare;
      return counted ? withMetadata(next, { generation: 1 }) : next;
    },
    validateCreate: (object, { empties }) => causes(faults?.(withEmpties(object, empties), undefined)),
    ...(warnings && { warnings: (object) => warnings(object, undefined) }),
    main: { ...mainRules(kind, hasStatus), ...updateRules(kind, rules, hasStatus) },
    subresources: hasStatus ? { ...common.subresources, status: statusUpdateRules(kind, status ?? {}) } : {},
  };
}

/** Reports whether what the generation counts is the same, also when an empty list or map is left out. */
function sameCounted(
  counted: NonNullable<KindRules['counted']>,
  next: JsonObject,
  old: JsonObject,
  kind: Kind,
): boolean {
  if (sameJson(counted(next), counted(old))) return true;
  const shape = structOf(kind.type);
  return sameJson(counted(meaningOf(next, shape)), counted(meaningOf(old, shape)));
}

/** Returns the rules of updates of the main resource. */
function updateRules(kind: Kind, rules: KindRules, hasStatus: boolean): Partial<UpdateRules> {
  const { prepare, counted, faults, warnings } = rules;
  const common = mainRules(kind, hasStatus);
  return {
    prepare(object, old, context) {
      const standing = hasStatus ? { ...object, status: old['status'] } : object;
      const prepared = prepare?.(standing, old, context) ?? object;
      const next = common.prepare(prepared, old, context);
      if (!counted) return next;
      const generation = metadataOf(old)['generation'];
      return withMetadata(next, sameCounted(counted, next, old, kind) ? { generation } : bump(old));
    },
    validatesMetadata: true,
    validate: (object, old, { empties }) => [
      ...metadataFaults(object, old, kind, rules.metadataChecks),
      ...causes(faults?.(withEmpties(object, empties), old)),
    ],
    ...(warnings && { warnings }),
  };
}

/** Metadata that the server writes itself on every update. */
const always = new Set(['managedFields', 'resourceVersion']);

/** Returns the rules of updates of the status: nothing else of the object changes but its metadata. */
function statusUpdateRules(kind: Kind, rules: StatusRules): UpdateRules {
  const { frozenMetadata = [], prepare, faults, warnings } = rules;
  const reset: ResetFields = [
    ...specPaths(kind.type),
    ...(frozenMetadata === 'all'
      ? [['f:metadata']]
      : frozenMetadata.map((key) => ['f:metadata', `f:${key}`])),
  ];
  return {
    reset,
    prepare(object, old) {
      const { status: _s, ...rest } = old;
      const keys = frozenMetadata === 'all' ? Object.keys(metadataOf(object)) : frozenMetadata;
      const frozen = keys
        .filter((key) => !always.has(key))
        .map((key) => [key, ownMember(metadataOf(old), key)] as const);
      const next = withMetadata(
        {
          ...rest,
          metadata:
            frozenMetadata === 'all' ? { ...metadataOf(old), ...metadataOf(object) } : metadataOf(object),
          ...(object['status'] === undefined ? {} : { status: object['status'] }),
        },
        Object.fromEntries(frozen),
      );
      return prepare?.(next, old) ?? next;
    },
    validatesMetadata: true,
    validate: (object, old) => [
      ...metadataFaults(object, old, kind, rules.metadataChecks),
      ...causes(faults?.(object, old)),
    ],
    ...(warnings && { warnings }),
  };
}
