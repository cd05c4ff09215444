import {
  type Faults,
  forbidden,
  invalid,
  invalidEach,
  oneOf,
  required,
  tooLong,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import { labelValueRule } from '../../../kube/validation/name-rules.ts';
import { labelName } from '../../../kube/validation/shared.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  stringAt,
  textOf,
} from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';
import { deviceExpressionFault } from '../../cel/device-expression.ts';
import { driverName } from '../../../kube/validation/shared.ts';
import { numberAt } from '../validation/value-rules.ts';
import { boundedList, distinctList } from './bounded.ts';
import { fullyQualifiedFaults, labelFaults, subdomainFaults } from './device-names.ts';

/** The greatest numbers of requests, constraints, configurations, selectors and alternatives. */
const most = { requests: 32, constraints: 32, configs: 32, selectors: 32, alternatives: 8 } as const;
/** Maximum size of an expression and of opaque parameters, bytes. */
const largest = 10 * 1024;

const modes = ['All', 'ExactCount'];
/** Effects of device taints, in the order of messages. */
export const deviceTaintEffects: readonly string[] = ['NoExecute', 'NoSchedule', 'None'];

const withOperator = (toleration: JsonObject): JsonObject => ({
  ...toleration,
  operator: stringAt(toleration, 'operator') || 'Equal',
});

/** Sets the defaults of one request or alternative: one device. */
function requestDefaults(request: JsonObject): JsonObject {
  const mode = stringAt(request, 'allocationMode') || 'ExactCount';
  const count = numberAt(request, 'count', 0);
  return {
    ...request,
    ...(Array.isArray(request['tolerations']) && {
      tolerations: objectsAt(request, 'tolerations').map(withOperator),
    }),
    allocationMode: mode,
    ...(mode === 'ExactCount' && count === 0 && { count: 1 }),
  };
}

/** Sets the defaults of the spec of a claim. */
export function claimDefaults(spec: JsonObject): JsonObject {
  const devices = objectAt(spec, 'devices');
  if (!Array.isArray(devices['requests'])) return spec;
  const requests = objectsAt(devices, 'requests').map((request) => {
    const { exactly, firstAvailable } = request;
    return {
      ...request,
      ...(isObject(exactly) && { exactly: requestDefaults(exactly) }),
      ...(Array.isArray(firstAvailable) && {
        firstAvailable: objectsAt(request, 'firstAvailable').map(requestDefaults),
      }),
    };
  });
  return { ...spec, devices: { ...devices, requests } };
}

/** Validates one selector of devices. */
export function* deviceSelectorFaults(field: string, selector: JsonObject): Faults {
  const cel = ownMember(selector, 'cel');
  if (!isObject(cel)) {
    yield required(`${field}.cel`);
    return;
  }
  const expression = stringAt(cel, 'expression');
  const at = `${field}.cel.expression`;
  if (Buffer.byteLength(expression) > largest) {
    yield tooLong(at, largest);
    return;
  }
  const why = deviceExpressionFault(expression);
  if (why === 'costly') yield forbidden(at, 'too complex, exceeds cost limit');
  else if (why) yield invalid(at, expression, why.why);
}

/** Validates the selectors of an object. */
export const deviceSelectorsFaults = (field: string, holder: JsonObject): Faults =>
  boundedList(field, objectsAt(holder, 'selectors'), most.selectors, deviceSelectorFaults);

function* countFaults(field: string, request: JsonObject): Faults {
  const mode = stringAt(request, 'allocationMode');
  const count = numberAt(request, 'count', 0);
  if (mode === 'All') {
    if (count !== 0)
      yield invalid(`${field}.count`, count, "must not be specified when allocationMode is 'All'");
  } else if (mode === 'ExactCount') {
    if (count <= 0) yield invalid(`${field}.count`, count, 'must be greater than zero');
  } else yield unsupported(`${field}.allocationMode`, mode, modes);
}

const valueFaults = (field: string, value: string): Faults =>
  invalidEach(field, value, labelValueRule(value));

function* tolerationFaults(field: string, toleration: JsonObject): Faults {
  const [key, operator, value, effect] = ['key', 'operator', 'value', 'effect'].map((name) =>
    stringAt(toleration, name),
  ) as [string, string, string, string];
  if (key !== '') yield* labelName(`${field}.key`, key);
  if (operator === 'Exists') {
    if (value !== '') yield invalid(`${field}.value`, value, 'must be empty for operator `Exists`');
  } else if (operator === 'Equal') yield* valueFaults(`${field}.value`, value);
  else if (operator === '') yield required(`${field}.operator`);
  else yield unsupported(`${field}.operator`, operator, ['Equal', 'Exists']);
  if (effect !== '') yield* oneOf(`${field}.effect`, effect, deviceTaintEffects);
}

/** Validates what an exact request and an alternative share. */
function* wantedDevice(field: string, request: JsonObject): Faults {
  const className = stringAt(request, 'deviceClassName');
  if (className === '') yield required(`${field}.deviceClassName`);
  else yield* subdomainFaults(`${field}.deviceClassName`, className);
  yield* deviceSelectorsFaults(`${field}.selectors`, request);
  yield* countFaults(field, request);
  for (const [i, toleration] of objectsAt(request, 'tolerations').entries())
    yield* tolerationFaults(`${field}.tolerations[${i}]`, toleration);
}

function* alternative(field: string, request: JsonObject): Faults {
  yield* labelFaults(`${field}.name`, stringAt(request, 'name'));
  yield* wantedDevice(field, request);
}

const nameOf = (item: JsonObject): string => stringAt(item, 'name');

function* requestFaults(field: string, request: JsonObject): Faults {
  yield* labelFaults(`${field}.name`, nameOf(request));
  const alternatives = objectsAt(request, 'firstAvailable');
  const exactly = ownMember(request, 'exactly');
  const one = 'exactly one of `exactly` or `firstAvailable` is required';
  if (isObject(exactly) && alternatives.length > 0)
    yield invalid(field, null, `${one}, but multiple fields are set`);
  else if (isObject(exactly)) yield* wantedDevice(`${field}.exactly`, exactly);
  else if (alternatives.length > 0)
    yield* distinctList(`${field}.firstAvailable`, alternatives, {
      most: most.alternatives,
      rule: alternative,
      keyOf: nameOf,
    });
  else yield required(field, one);
}

/** The names of requests; those of alternatives follow a slash. */
export function requestNames(spec: JsonObject): ReadonlySet<string> {
  const requests = objectsAt(objectAt(spec, 'devices'), 'requests');
  return new Set(
    requests.flatMap((request) => [
      nameOf(request),
      ...objectsAt(request, 'firstAvailable').map((one) => `${nameOf(request)}/${nameOf(one)}`),
    ]),
  );
}

/** Validates a reference to a request of the claim. */
export const requestReference = (names: ReadonlySet<string>) =>
  function* (field: string, name: string): Faults {
    const parts = name.split('/');
    if (parts.length <= 2) for (const part of parts) yield* labelFaults(field, part);
    if (parts.length > 2 || !names.has(name))
      yield invalid(
        field,
        name,
        "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'",
      );
  };

/** Validates references to requests, each at most once. */
export const requestReferences = (field: string, holder: JsonObject, names: ReadonlySet<string>): Faults =>
  distinctList(field, listAt(holder, 'requests').map(textOf), {
    most: most.requests,
    rule: requestReference(names),
    keyOf: (name) => name,
  });

/** Validates parameters that only a driver understands: a JSON object of a limited size. @param most bytes */
export function* opaqueObject(field: string, value: unknown): Faults {
  if (value === undefined || value === null) yield required(field);
  else if (Buffer.byteLength(JSON.stringify(value)) > largest) yield tooLong(field, largest);
  else if (!isObject(value)) yield invalid(field, '<value omitted>', 'must be a valid JSON object');
}

/** Validates the configuration of a device: parameters for one driver. */
export function* configurationFaults(field: string, config: JsonObject): Faults {
  const opaque = ownMember(config, 'opaque');
  if (!isObject(opaque)) {
    yield required(`${field}.opaque`);
    return;
  }
  yield* driverName(`${field}.opaque.driver`, stringAt(opaque, 'driver'));
  yield* opaqueObject(`${field}.opaque.parameters`, opaque['parameters']);
}

function* constraintFaults(field: string, constraint: JsonObject, names: ReadonlySet<string>): Faults {
  yield* requestReferences(`${field}.requests`, constraint, names);
  const { matchAttribute: match, distinctAttribute: distinct } = constraint;
  if (match !== undefined) yield* fullyQualifiedFaults(`${field}.matchAttribute`, textOf(match));
  else if (distinct !== undefined)
    yield* fullyQualifiedFaults(`${field}.distinctAttribute`, textOf(distinct));
  else
    yield required(
      field,
      'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
    );
}

/** Validates the spec of a claim. Follows Kubernetes `validateResourceClaimSpec` (pkg/apis/resource/validation, v1.36). */
export function* claimSpecFaults(field: string, spec: JsonObject): Faults {
  const devices = objectAt(spec, 'devices');
  const at = `${field}.devices`;
  const names = requestNames(spec);
  yield* distinctList(`${at}.requests`, objectsAt(devices, 'requests'), {
    most: most.requests,
    rule: requestFaults,
    keyOf: nameOf,
  });
  yield* boundedList(`${at}.constraints`, objectsAt(devices, 'constraints'), most.constraints, (path, one) =>
    constraintFaults(path, one, names),
  );
  yield* boundedList(`${at}.config`, objectsAt(devices, 'config'), most.configs, function* (path, one) {
    yield* requestReferences(`${path}.requests`, one, names);
    yield* configurationFaults(path, one);
  });
}
