import { conditionOf } from '../../apimachinery/conditions.ts';
import { every } from '../../base/clock.ts';
import { ownMember } from '../../base/own.ts';
import {
  type JsonObject,
  metadataOf,
  nameOf,
  objectAt,
  sameJson,
  specOf,
  stringAt,
} from '../../apimachinery/json.ts';
import { builtIn, type Kind } from '../../apimachinery/kinds.ts';
import { seconds } from '../../apimachinery/times.ts';
import type { Store } from '../storage/store.ts';
import type { ControllerDeps } from './controllers.ts';
import {
  autoUpdateSpec,
  type FlowControlObject,
  mandatoryLevels,
  mandatorySchemas,
  suggestedLevels,
  suggestedSchemas,
} from './flow-control-policy.ts';
import { applyOwnStatus, createOwn, type OwnDeps, putOwn } from './own-objects.ts';

const group = 'flowcontrol.apiserver.k8s.io';
const levels = builtIn('prioritylevelconfigurations', group);
const schemas = builtIn('flowschemas', group);
const producer = 'api-priority-and-fairness-config-producer-v1';
const consumer = 'api-priority-and-fairness-config-consumer-v1';
const intervalMs = 60_000;

/**
 * Creates the bootstrap objects of priority and fairness, and brings them back every minute: mandatory ones always, suggested ones unless
 * their annotation or an administrator's change prevents that. Sets the condition `Dangling` of flow schemas. Follows kube-apiserver's
 * bootstrap configuration ensurer and the configuration controller (v1.36).
 */
export function keepFlowControl(deps: OwnDeps & Pick<ControllerDeps, 'clock'>): () => void {
  const { store } = deps.world;
  const judge = (): void => {
    for (const { object } of [...store.list(schemas.storage)]) setDangling(deps, object);
  };
  ensureFlowControl(deps);
  judge();
  const ends = [
    every(deps.clock, intervalMs, () => {
      ensureFlowControl(deps);
    }),
    store.onChange((storage) => {
      if (storage === levels.storage || storage === schemas.storage) judge();
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}

function ensureFlowControl(deps: OwnDeps): void {
  for (const [kind, suggested, mandatory] of [
    [levels, suggestedLevels, mandatoryLevels],
    [schemas, suggestedSchemas, mandatorySchemas],
  ] as const) {
    for (const object of suggested) ensure(deps, kind, object, isAutoUpdated);
    for (const object of mandatory) ensure(deps, kind, object, () => true);
    removeUnwanted(deps.world.store, kind, [...suggested, ...mandatory].map(nameOf));
  }
}

function ensure(
  deps: OwnDeps,
  kind: Kind,
  object: FlowControlObject,
  isKept: (standing: JsonObject) => boolean,
): void {
  const change = (standing: JsonObject): JsonObject => {
    const shouldKeep = isKept(standing);
    const isMarked = parsedBool(markOf(standing)) === shouldKeep;
    const isRight = !shouldKeep || sameJson(specOf(standing), object.spec);
    if (isMarked && isRight) return standing;
    const metadata = metadataOf(standing);
    const annotations = { ...objectAt(metadata, 'annotations'), [autoUpdateSpec]: String(shouldKeep) };
    return {
      ...standing,
      metadata: isMarked ? metadata : { ...metadata, annotations },
      ...(!isRight && { spec: object.spec }),
    };
  };
  const own = { ...deps, manager: producer };
  if (kind === schemas)
    createOwn(own, kind, object, { status: danglingStatus(deps, object), manager: consumer });
  putOwn(own, kind, object, change);
}

const markOf = (object: JsonObject): string =>
  stringAt(objectAt(metadataOf(object), 'annotations'), autoUpdateSpec);

/** Parses a boolean as Go's `strconv.ParseBool`. */
function parsedBool(text: string): boolean | undefined {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
  return ['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text) ? false : undefined;
}

/** Reports whether a suggested object follows the server's spec: by its annotation, or while its spec is unchanged. */
const isAutoUpdated = (object: JsonObject): boolean =>
  parsedBool(markOf(object)) ?? metadataOf(object)['generation'] === 1;

/** Deletes the objects that an earlier release made and this one does not know. */
function removeUnwanted(store: Store, kind: Kind, names: readonly string[]): void {
  for (const { key, object } of [...store.list(kind.storage)])
    if (!names.includes(nameOf(object)) && parsedBool(markOf(object)) === true)
      store.delete(kind.storage, key);
}

/** Returns the status of a schema, which says whether its level is missing. */
function danglingStatus(
  { world }: OwnDeps,
  schema: JsonObject,
): { readonly conditions: readonly JsonObject[] } {
  const level = stringAt(objectAt(specOf(schema), 'priorityLevelConfiguration'), 'name');
  const isThere = world.store.get(levels.storage, level) !== undefined;
  const condition = {
    type: 'Dangling',
    status: isThere ? 'False' : 'True',
    lastTransitionTime: seconds(world.clock.now()),
    reason: isThere ? 'Found' : 'NotFound',
    message: `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)} ${isThere ? 'and it exists' : 'but there is no such object'}`,
  };
  return { conditions: [condition] };
}

/** Sets whether the level of a schema is missing. */
function setDangling(deps: OwnDeps, schema: JsonObject): void {
  const status = danglingStatus(deps, schema);
  const { lastTransitionTime: _time, ...state } = status.conditions[0] ?? {};
  const standing = conditionOf(schema, 'Dangling');
  if (standing && Object.entries(state).every(([key, value]) => ownMember(standing, key) === value)) return;
  applyOwnStatus({ ...deps, manager: consumer }, schemas, { metadata: { name: nameOf(schema) }, status });
}
