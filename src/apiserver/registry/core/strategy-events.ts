import { ownMember, setOwn, tableOf } from '../../../base/own.ts';
import {
  isObject,
  type Draft,
  type JsonObject,
  namespaceOf,
  objectAt,
  sameJson,
  stringAt,
  without,
} from '../../../apimachinery/json.ts';
import { internalForm } from '../../../kube/validation/internal-spec.ts';
import { qualifiedNameRule } from '../../../kube/validation/name-rules.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { subdomainName, validateMetadata, validateMetadataUpdate } from '../metadata-rules.ts';
import { fault, type FieldFault } from '../../../apimachinery/status-error.ts';
import { commonStrategy, mainRules } from '../strategies.ts';
import type { Strategy } from '../strategy.ts';

/** Members of a core Event and their names in `events.k8s.io`. */
const renamed: readonly (readonly [core: string, modern: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
];

function rename(object: JsonObject, pairs: readonly (readonly [from: string, to: string])[]): JsonObject {
  const out: Draft = without(object, ...pairs.map(([from]) => from));
  for (const [from, to] of pairs)
    if (ownMember(object, from) !== undefined) setOwn(out, to, ownMember(object, from));
  return out;
}

/** Returns the Event in the core group's form, in which events are stored. */
export const toCoreEvent = (event: JsonObject): JsonObject => ({
  source: {},
  involvedObject: {},
  firstTimestamp: null,
  lastTimestamp: null,
  eventTime: null,
  reportingComponent: '',
  reportingInstance: '',
  ...rename(
    event,
    renamed.map(([core, modern]) => [modern, core]),
  ),
});

/** Returns the Event in the form of `events.k8s.io`. */
export function toModernEvent(event: JsonObject): JsonObject {
  const out = rename(event, renamed) as Draft;
  for (const key of ['reportingController', 'reportingInstance'])
    if (ownMember(out, key) === '') delete out[key];
  return out;
}

const tooManyCharacters = (field: string, most: number): FieldFault =>
  fault.invalid(field, '', `can have at most ${most} characters`);

/** Text fields, whether they are required, and their maximum length. */
const texts: readonly (readonly [field: string, needed: boolean, most: number])[] = [
  ['reportingInstance', true, 128],
  ['action', true, 128],
  ['reason', true, 128],
  ['message', false, 1024],
];

function seriesFaults(event: JsonObject): FieldFault[] {
  if (event['series'] === undefined) return [];
  const series = objectAt(event, 'series');
  return [
    ...(Number(series['count'] ?? 0) < 2 ? [fault.invalid('series.count', '', 'should be at least 2')] : []),
    ...((series['lastObservedTime'] ?? null) === null ? [fault.required('series.lastObservedTime')] : []),
  ];
}

/** Fields of an `events.k8s.io` event that are immutable: all but its series. The real server checks the reason twice. */
const immutableFields =
  'involvedObject reason message source firstTimestamp lastTimestamp count reason type eventTime action related'.split(
    ' ',
  );
const reporters: readonly (readonly [key: string, field: string])[] = [
  ['reportingComponent', 'reportingController'],
  ['reportingInstance', 'reportingInstance'],
];

/** Zero values of missing texts and numbers. */
const zeros: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...['reason', 'message', 'type', 'action'].map((key) => [key, ''] as const),
  ['count', 0],
]);

const forms: Readonly<Record<string, string>> = tableOf({
  involvedObject: 'ObjectRef',
  related: 'ObjectRef',
  source: 'EventSource',
});

/** Returns a field as messages print it. */
function shown(key: string, value: unknown): unknown {
  const form = ownMember(forms, key);
  if (form === undefined) return value ?? zeros.get(key) ?? null;
  if (!isObject(value) && form === 'ObjectRef') return null;
  return internalForm(form, isObject(value) ? value : {});
}

function modernUpdateFaults(event: JsonObject, old: JsonObject): FieldFault[] {
  const [now, before] = [toCoreEvent(event), toCoreEvent(old)];
  const fields = [...immutableFields.map((key) => [key, key] as const), ...reporters];
  return [
    ...commonFaults(now, 'reportingController'),
    ...validateMetadataUpdate(now, before, modern),
    ...(sameJson(now['series'], before['series']) ? [] : seriesFaults(now)),
    ...fields
      .filter(([key]) => !sameJson(ownMember(now, key), ownMember(before, key)))
      .map(([key, field]) => fault.invalid(field, shown(key, ownMember(now, key)), 'field is immutable')),
  ];
}

/**
 * Validates the namespace of the involved object: that of the event; `default` for cluster-scoped objects, with differences between the
 * groups.
 */
function namespaceFault(event: JsonObject, timed: boolean): FieldFault[] {
  const namespace = namespaceOf(event);
  const involved = stringAt(objectAt(event, 'involvedObject'), 'namespace');
  const free = timed ? ['default', 'kube-system'] : ['', 'default'];
  const fits = involved === '' ? free.includes(namespace) : timed || involved === namespace;
  return fits ? [] : [fault.invalid('involvedObject.namespace', involved, 'does not match event.namespace')];
}

/** Validates events of either group. Follows Kubernetes `legacyValidateEvent`. */
function commonFaults(event: JsonObject, controller: string): FieldFault[] {
  const timed = (event['eventTime'] ?? null) !== null;
  const faults = namespaceFault(event, timed);
  if (!timed) return faults;
  const reporter = stringAt(event, 'reportingComponent');
  if (reporter === '') faults.push(fault.required(controller));
  faults.push(...qualifiedNameRule(reporter).map((why) => fault.invalid(controller, reporter, why)));
  for (const [field, needed, most] of texts) {
    const text = stringAt(event, field);
    if (needed && text === '') faults.push(fault.required(field));
    if (Buffer.byteLength(text) > most) faults.push(tooManyCharacters(field, most));
  }
  return faults;
}

const unset = (field: string): FieldFault => fault.invalid(field, '', 'needs to be unset');

/** Validates that an `events.k8s.io` event does not set deprecated fields. */
const oldFaults = (event: JsonObject): FieldFault[] => [
  ...['firstTimestamp', 'lastTimestamp'].flatMap((key) =>
    (ownMember(event, key) ?? null) === null ? [] : [unset(key)],
  ),
  ...(Number(event['count'] ?? 0) === 0 ? [] : [unset('count')]),
  ...(Object.values(objectAt(event, 'source')).some((text) => text !== '') ? [unset('source')] : []),
];

/** Validates a new event of `events.k8s.io`. Follows Kubernetes `ValidateEventCreate`. */
function modernFaults(event: JsonObject): FieldFault[] {
  const type = stringAt(event, 'type');
  const isType = type === 'Normal' || type === 'Warning';
  return [
    ...commonFaults(event, 'reportingController'),
    ...validateMetadata(event, modern, subdomainName),
    ...seriesFaults(event),
    ...((event['eventTime'] ?? null) === null ? [fault.required('eventTime')] : []),
    ...(isType ? [] : [fault.invalid('type', '', `has invalid value: ${type}`)]),
    ...oldFaults(event),
  ];
}

const core = builtIn('events');
const modern = builtIn('events', 'events.k8s.io');

export const coreEventStrategy: Strategy = {
  ...commonStrategy(core),
  validatesMetadata: true,
  validateCreate: (event) => commonFaults(event, 'reportingComponent'),
  main: {
    ...mainRules(core, false),
    validatesMetadata: true,
    validate: (event) => commonFaults(event, 'reportingComponent'),
  },
};

export const modernEventStrategy: Strategy = {
  ...commonStrategy(modern),
  validatesMetadata: true,
  faultGroup: '',
  validateCreate: (event) => modernFaults(toCoreEvent(event)),
  main: { ...mainRules(modern, false), validatesMetadata: true, validate: modernUpdateFaults },
  toStorage: toCoreEvent,
  fromStorage: toModernEvent,
};
