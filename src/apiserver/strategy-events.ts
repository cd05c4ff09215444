import { type Draft, type JsonObject, objectAt, stringAt, valueAt, without } from './json.ts';
import { qualifiedNameRule } from '../kube/validation/name-rules.ts';
import { builtIn } from './kinds.ts';
import { fault, type FieldFault } from './status-error.ts';
import { commonStrategy } from './strategies.ts';
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

function coreFaults(event: JsonObject): FieldFault[] {
  const faults = namespaceFault(event);
  return faults;
}

const most = 1024;

function modernFaults(event: JsonObject, controller: string): FieldFault[] {
  const faults = namespaceFault(event);
  const text = (key: string): string => stringAt(event, key);
  const eventTime = valueAt(event, 'eventTime');
  if (eventTime === undefined || eventTime === null) faults.push(fault.required('eventTime'));
  if (text('reportingComponent') === '') faults.push(fault.required(controller));
  faults.push(
    ...qualifiedNameRule(text('reportingComponent')).map((why) =>
      fault.invalid(controller, text('reportingComponent'), why),
    ),
  );
  if (text('reportingInstance') === '') faults.push(fault.required('reportingInstance'));
  if (text('reportingInstance').length > 128)
    faults.push(fault.invalid('reportingInstance', '', 'can have at most 128 characters'));
  if (text('action') === '') faults.push(fault.required('action'));
  if (text('action').length > 128)
    faults.push(fault.invalid('action', '', 'can have at most 128 characters'));
  if (text('reason') === '') faults.push(fault.required('reason'));
  if (text('reason').length > 128)
    faults.push(fault.invalid('reason', '', 'can have at most 128 characters'));
  if (text('message').length > most)
    faults.push(fault.invalid('message', '', 'can have at most 1024 characters'));
  if (text('type') !== 'Normal' && text('type') !== 'Warning')
    faults.push(fault.invalid('type', '', 'has invalid value: ' + text('type')));
  return faults;
}

const core = builtIn('events');
const modern = builtIn('events', 'events.k8s.io');

export const coreEventStrategy: Strategy = {
  ...commonStrategy(core),
  validateCreate: (event) =>
    valueAt(event, 'eventTime') ? modernFaults(event, 'reportingComponent') : coreFaults(event),
};

export const modernEventStrategy: Strategy = {
  ...commonStrategy(modern),
  faultGroup: '',
  validateCreate: (event) => modernFaults(toCoreEvent(event), 'reportingController'),
  toStorage: toCoreEvent,
  fromStorage: toModernEvent,
};
