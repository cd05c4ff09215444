import { type Draft, type JsonObject, objectAt, sameJson, stringAt, valueAt, without } from './json.ts';
import { qualifiedNameRule } from '../kube/validation/name-rules.ts';
import { builtIn } from './kinds.ts';
import { fault, type FieldFault } from './status-error.ts';
import { commonStrategy, mainRules } from './strategies.ts';
import type { Strategy } from './strategy.ts';

/** Members of a core Event beside those of an `events.k8s.io` one. */
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
  for (const [from, to] of pairs) if (object[from] !== undefined) out[to] = object[from];
  return out;
}

/** The Event as the core group writes it; events are stored so. */
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

/** The Event as `events.k8s.io` writes it. */
export function toModernEvent(event: JsonObject): JsonObject {
  const out = rename(event, renamed) as Draft;
  for (const key of ['reportingController', 'reportingInstance']) if (out[key] === '') delete out[key];
  return out;
}

function namespaceFault(event: JsonObject): FieldFault[] {
  const namespace = stringAt(objectAt(event, 'metadata'), 'namespace');
  const involved = stringAt(objectAt(event, 'involvedObject'), 'namespace');
  if (involved === '' && namespace !== 'default' && namespace !== 'kube-system')
    return [fault.invalid('involvedObject.namespace', involved, 'does not match event.namespace')];
  if (involved !== '' && involved !== namespace)
    return [fault.invalid('involvedObject.namespace', involved, 'does not match event.namespace')];
  return [];
}

const tooManyCharacters = (field: string, most: number): FieldFault =>
  fault.invalid(field, '', `can have at most ${most} characters`);

/** What must be there, and how long it may be. */
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

/** What an event of `events.k8s.io` keeps: all but its series. */
const kept = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
];

function modernUpdateFaults(event: JsonObject, old: JsonObject): FieldFault[] {
  const [now, before] = [toCoreEvent(event), toCoreEvent(old)];
  return [
    ...seriesFaults(now),
    ...kept
      .filter((key) => !sameJson(now[key], before[key]))
      .flatMap((key) => {
        const one = fault.invalid(key, now[key] ?? null, 'field is immutable');
        return key === 'reason' ? [one, one] : [one]; // the real server looks at it twice
      }),
  ];
}

function modernFaults(event: JsonObject, controller: string): FieldFault[] {
  const faults = namespaceFault(event);
  const reporter = stringAt(event, 'reportingComponent');
  if ((event['eventTime'] ?? null) === null) faults.push(fault.required('eventTime'));
  if (reporter === '') faults.push(fault.required(controller));
  faults.push(...qualifiedNameRule(reporter).map((why) => fault.invalid(controller, reporter, why)));
  for (const [field, needed, most] of texts) {
    const text = stringAt(event, field);
    if (needed && text === '') faults.push(fault.required(field));
    if (text.length > most) faults.push(tooManyCharacters(field, most));
  }
  faults.push(...seriesFaults(event));
  const type = stringAt(event, 'type');
  if (type !== 'Normal' && type !== 'Warning')
    faults.push(fault.invalid('type', '', `has invalid value: ${type}`));
  return faults;
}

const core = builtIn('events');
const modern = builtIn('events', 'events.k8s.io');

export const coreEventStrategy: Strategy = {
  ...commonStrategy(core),
  validateCreate: (event) =>
    valueAt(event, 'eventTime') ? modernFaults(event, 'reportingComponent') : namespaceFault(event),
};

export const modernEventStrategy: Strategy = {
  ...commonStrategy(modern),
  faultGroup: '',
  validateCreate: (event) => modernFaults(toCoreEvent(event), 'reportingController'),
  main: { ...mainRules(modern, false), validate: modernUpdateFaults },
  toStorage: toCoreEvent,
  fromStorage: toModernEvent,
};
