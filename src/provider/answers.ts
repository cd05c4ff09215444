import { AgentError } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';
import type { PodSyncResult, SyncResult } from './provider.ts';
import type { RuntimePod, RuntimePodStatus } from './runtime-pod.ts';

/**
 * Validates the return values of a provider. A provider may be written in JavaScript or pass on the response of a backend, so a malformed
 * value must fail here, with the name of the field, and not somewhere inside the agent.
 */

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => typeof value === 'number' && Number.isFinite(value);
const isList: Check = (value) => Array.isArray(value);
const oneOf = (...values: readonly string[]): Check & { readonly what: string } =>
  Object.assign((value: unknown) => values.includes(value as string), {
    what: `one of ${values.map((value) => `"${value}"`).join(', ')}`,
  });

interface Field {
  readonly name: string;
  readonly check: Check;
  readonly what: string;
  readonly optional?: true;
}

const text = (name: string): Field => ({ name, check: isText, what: 'a string' });
const number = (name: string): Field => ({ name, check: isNumber, what: 'a finite number' });
const list = (name: string): Field => ({ name, check: isList, what: 'an array' });
const optional = (field: Field): Field => ({ ...field, optional: true });

const containerState = oneOf('created', 'running', 'exited', 'unknown');
const sandboxState = oneOf('SANDBOX_READY', 'SANDBOX_NOTREADY');

const listedFields: readonly Field[] = [
  text('id'),
  text('name'),
  { name: 'state', check: containerState, what: containerState.what },
  optional(number('createdAt')),
];

const containerFields: readonly Field[] = [
  ...listedFields,
  optional(number('startedAt')),
  optional(number('finishedAt')),
  number('exitCode'),
  text('image'),
  text('imageId'),
  text('imageRef'),
  optional(number('hash')),
  number('restartCount'),
  text('reason'),
  text('message'),
];

const sandboxFields: readonly Field[] = [
  text('id'),
  { name: 'state', check: sandboxState, what: sandboxState.what },
  number('attempt'),
  number('createdAt'),
];

const podFields: readonly Field[] = [text('uid'), text('name'), text('namespace')];
const listedPodFields: readonly Field[] = [
  ...podFields,
  optional(number('createdAt')),
  list('containers'),
  list('sandboxes'),
];
const statusFields: readonly Field[] = [
  ...podFields,
  list('ips'),
  list('containerStatuses'),
  list('activeContainerStatuses'),
  list('sandboxStatuses'),
];
const resultFields: readonly Field[] = [
  text('action'),
  text('target'),
  optional(text('reason')),
  optional(text('message')),
];

/** Describes a value in an error message, without the contents of objects. */
function described(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60));
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'function' ? 'a function' : String(value);
}

/** Returns the fault of the first invalid field of `value`; `undefined` when all are valid. */
function faultOf(value: unknown, fields: readonly Field[], path: string): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return `${path} is ${described(value)}, not an object`;
  const record = value as Readonly<Record<string, unknown>>;
  for (const { name, check, what, optional: mayMiss } of fields) {
    const found = record[name];
    if (mayMiss && found === undefined) continue;
    if (!check(found)) return `${path}.${name} is ${described(found)}, not ${what}`;
  }
  return undefined;
}

function faultOfAll(values: readonly unknown[], fields: readonly Field[], path: string): string | undefined {
  for (let index = 0; index < values.length; index++) {
    const fault = faultOf(values[index], fields, `${path}[${index}]`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const refuse = (fault: string | undefined): void => {
  if (fault !== undefined) throw new AgentError('internal', fault);
};

/**
 * Makes the validator of one provider's listings. Each pod object is checked once: listings are mostly the same objects, which do not
 * change after they were returned.
 */
export function listingCheck(): (answer: unknown) => readonly RuntimePod[] {
  const checked = new WeakSet<RuntimePod>();
  return (answer) => {
    if (!Array.isArray(answer))
      throw new AgentError('internal', `the answer is ${described(answer)}, not an array`);
    const pods = answer as readonly RuntimePod[];
    pods.forEach((pod, index) => {
      if (checked.has(pod)) return;
      refuse(faultOf(pod, listedPodFields, `pod[${index}]`));
      const { uid, containers, sandboxes } = pod;
      if (uid === '') refuse('the uid of a pod is empty');
      refuse(faultOfAll(containers, listedFields, `containers of pod ${uid}`));
      refuse(faultOfAll(sandboxes, listedFields, `sandboxes of pod ${uid}`));
      checked.add(pod);
    });
    return pods;
  };
}

/** Returns `answer` if it is the status of a pod. @throws {AgentError} `internal`, naming the invalid field */
export function podStatusAnswer(answer: unknown): RuntimePodStatus {
  refuse(faultOf(answer, statusFields, 'the answer'));
  const status = answer as RuntimePodStatus;
  refuse(faultOfAll(status.containerStatuses, containerFields, 'containerStatuses'));
  refuse(faultOfAll(status.activeContainerStatuses, containerFields, 'activeContainerStatuses'));
  refuse(faultOfAll(status.sandboxStatuses, sandboxFields, 'sandboxStatuses'));
  if (!status.ips.every(isText)) refuse('ips holds something that is not a string');
  return status;
}

/**
 * Returns `answer` if it is the result of a sync. Converts an `error` that is no Error, and omits a `backOffUntil` that is no number.
 *
 * @throws {AgentError} `internal`, naming the invalid field
 */
export function syncAnswer(answer: unknown): PodSyncResult {
  const fields = [list('results'), { name: 'changed', check: isBoolean, what: 'true or false' }];
  refuse(faultOf(answer, fields, 'the answer'));
  const { error, backOffUntil, results, ...rest } = answer as PodSyncResult;
  refuse(faultOfAll(results, resultFields, 'results'));
  return {
    ...rest,
    results,
    ...(error !== undefined && { error: errorOf(error) }),
    ...(isNumber(backOffUntil) && backOffUntil !== undefined && { backOffUntil }),
  };
}

const isBoolean: Check = (value) => typeof value === 'boolean';

const errorOf = (reason: unknown): Error =>
  reason instanceof Error ? reason : AgentError.from(typeof reason === 'string' ? reason : described(reason));

/**
 * Combines the failures in `results` into one error in the kubelet's words; `undefined` when none failed. Follows kubelet
 * `PodSyncResult.Error`.
 */
export function failureOf(results: readonly SyncResult[]): Error | undefined {
  const failed = results.filter(({ reason }) => reason !== undefined);
  if (failed.length === 0) return undefined;
  const texts = failed.map(
    ({ action, target, reason = '', message = '' }) =>
      `failed to "${action}" for "${target}" with ${reason}: ${goQuote(message)}`,
  );
  return new AgentError('internal', texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`);
}

/** True for promises, also those of another library or realm. */
export const isThenable = <T>(value: T): value is T & PromiseLike<Awaited<T>> =>
  typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function';
