import { tableOf } from '../base/own.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';
import { nameOf, namespaceOf, uidOf } from '../kube/names.ts';
import type { ContainerStatus, Pod, PodStatus } from '../kube/types.ts';
import type { LogOptions } from '../provider/logs.ts';
import type { ContainerRef } from '../provider/refs.ts';
import type { ServerHost } from './host.ts';
import { type Reply, type ServerRequest, text } from './reply.ts';
import { zeroTime as zeroTimeText } from '../kube/time.ts';

/** Parses the log options of a query. @throws {RangeError} for an invalid value */
export function logOptionsOf(params: URLSearchParams): LogOptions {
  const query = withoutTail(params);
  const tailLines = integer(query, 'tailLines');
  const sinceSeconds = integer(query, 'sinceSeconds');
  const sinceTime = instant(query, 'sinceTime');
  const limitBytes = integer(query, 'limitBytes');
  const stream = query.get('stream');
  return {
    follow: flag(query, 'follow'),
    previous: flag(query, 'previous'),
    timestamps: flag(query, 'timestamps'),
    ...(tailLines !== undefined && { tailLines }),
    ...(sinceSeconds !== undefined && { sinceSeconds }),
    ...(sinceTime !== undefined && { sinceTime }),
    ...(limitBytes !== undefined && { limitBytes }),
    ...(stream !== null && { stream: stream as NonNullable<LogOptions['stream']> }),
  };
}

/** Replaces `tail`, the old name of `tailLines`; `tail=all` means all lines. */
function withoutTail(params: URLSearchParams): URLSearchParams {
  const tail = params.get('tail');
  if (tail === null || tail === '') return params;
  const query = new URLSearchParams(params);
  if (tail === 'all') query.delete('tailLines');
  else query.set('tailLines', tail);
  return query;
}

/** Reports whether the options are valid together (`ValidatePodLogOptions`). */
export function logOptionsHold(options: LogOptions): boolean {
  const { tailLines, sinceSeconds, sinceTime, limitBytes, stream = 'All' } = options;
  if (tailLines !== undefined && (tailLines < 0 || stream !== 'All')) return false;
  if (limitBytes !== undefined && limitBytes < 1) return false;
  if (sinceSeconds !== undefined && (sinceSeconds < 1 || sinceTime !== undefined)) return false;
  return ['All', 'Stdout', 'Stderr'].includes(stream);
}

const waitingTexts: Readonly<Record<string, string>> = tableOf({
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
});

/**
 * Returns the id of the container instance whose log is requested, or the reason why there is none. Follows kubelet
 * `validateContainerLogStatus`.
 *
 * @param podName shown in the reason
 */
export function logContainerId(
  podName: string,
  status: PodStatus | undefined,
  container: string,
  previous: boolean,
): { readonly id: string } | { readonly reason: string } {
  const lists = [
    status?.containerStatuses,
    status?.initContainerStatuses,
    status?.ephemeralContainerStatuses,
  ];
  const found = lists.flatMap((list) => list ?? []).find(({ name }) => name === container);
  const which = `container ${goQuote(container)} in pod ${goQuote(podName)}`;
  if (!found) return { reason: `${which} is not available` };
  const last = found.lastState?.terminated?.containerID ?? '';
  if (previous) return last === '' ? { reason: `previous terminated ${which} not found` } : { id: last };
  return currentInstance(found, last, which);
}

function currentInstance(
  { state = {}, lastState, containerID = '' }: ContainerStatus,
  last: string,
  which: string,
): { readonly id: string } | { readonly reason: string } {
  if (state.running) return { id: containerID };
  if (state.terminated ?? lastState?.terminated) {
    const own = state.terminated?.containerID ?? '';
    const id = own === '' ? last : own;
    return id === '' ? { reason: `${which} is terminated` } : { id };
  }
  return { reason: waitingText(state.waiting, which) };
}

function waitingText(waiting: { readonly reason?: string } | undefined, which: string): string {
  if (!waiting) return `${which} is waiting to start - no logs yet`;
  const { reason = '' } = waiting;
  return `${which} is waiting to start: ${waitingTexts[reason] ?? reason}`;
}

/** Reports whether a pod's spec has a container of any kind with this name. */
export const hasContainer = ({ spec }: Pod, name: string): boolean =>
  [spec?.containers, spec?.initContainers, spec?.ephemeralContainers].some((list) =>
    list?.some((container) => container.name === name),
  );

/** Dependencies of {@link containerLogs}. */
export interface ContainerLogsDeps {
  readonly host: ServerHost;
  readonly clock: Clock;
  /** Whether one of the two streams may be requested alone (feature gate PodLogsQuerySplitStreams). */
  readonly splitStreams: boolean;
}

/** If a followed log has no output for this long, the response headers are sent without it, ms. */
const quietMs = 100;

/**
 * `GET /containerLogs/{namespace}/{pod}/{container}`. Follows kubelet `getContainerLogs` (K3).
 *
 * @param at namespace, pod and container
 */
export function containerLogs(
  deps: ContainerLogsDeps,
  at: { readonly namespace: string; readonly name: string; readonly container: string },
  query: URLSearchParams,
  request: ServerRequest,
): Reply {
  let options: LogOptions;
  try {
    options = logOptionsOf(query);
  } catch {
    return text(400, '{"message": "Unable to decode query."}');
  }
  if (!logOptionsHold(options)) return text(422, '{"message": "Invalid request."}');
  const pod = deps.host.podByName(at.namespace, at.name);
  if (!pod) return text(404, `pod ${goQuote(at.name)} does not exist`);
  if (!hasContainer(pod, at.container))
    return text(404, `container ${goQuote(at.container)} not found in pod ${goQuote(at.name)}`);
  const { stream = 'All' } = options;
  if (stream !== 'All' && !deps.splitStreams) {
    const gate = 'Please enable PodLogsQuerySplitStreams feature gate in kubelet';
    return text(400, `unable to return the given log stream: ${goQuote(stream)}. ${gate}`);
  }
  const status = deps.host.podStatus(uidOf(pod)) ?? pod.status;
  const instance = logContainerId(nameOf(pod), status, at.container, options.previous ?? false);
  if ('reason' in instance) return refused(instance.reason);
  return streamed(deps, { pod, options, container: refOf(pod, at.container, instance.id) }, request);
}

export const refOf = (pod: Pod, container: string, id: string): ContainerRef => ({
  podUid: uidOf(pod),
  namespace: namespaceOf(pod),
  pod: nameOf(pod),
  container,
  id,
});

/** The kubelet has already announced a stream at this point, so the reply has no content type. */
const refused = (reason: string): Reply => ({ status: 400, headers: {}, body: reason });

function streamed(
  { host, clock }: ContainerLogsDeps,
  log: { readonly pod: Pod; readonly options: LogOptions; readonly container: ContainerRef },
  { signal }: ServerRequest,
): Reply {
  const { readLog } = host;
  if (!readLog) return text(501, 'this provider keeps no logs');
  return {
    status: 200,
    headers: {},
    body: {
      stream: async (sink) => {
        const stop = log.options.follow
          ? clock.timer(quietMs, () => {
              sink.flushHeaders();
            })
          : undefined;
        try {
          await readLog(log, (bytes) => sink.write(bytes), signal);
        } finally {
          stop?.();
        }
      },
      otherwise: (reason) => refused(messageOf(reason)),
    },
  };
}

/** Parses a flag: absent, `false` and `0` are false; everything else is true, including the empty text (K3). */
function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

const integerPattern = /^[+-]?\d+$/;

/** Parses an integer; undefined when absent. @throws {RangeError} for anything else */
function integer(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  const number = Number(value);
  if (!integerPattern.test(value) || !Number.isSafeInteger(number))
    throw new RangeError(`${name} is no integer: ${value}`);
  return number;
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** Go's zero time, ms since the epoch. */
const zeroTime = Date.parse(zeroTimeText);

/**
 * Parses an RFC 3339 time to ms since the epoch; undefined when absent; an empty text or `null` is Go's zero time. @throws {RangeError}
 * for anything else
 */
function instant(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (value === '' || value === 'null') return zeroTime;
  const ms = rfc3339.test(value) ? Date.parse(value.replace(',', '.')) : Number.NaN;
  if (Number.isNaN(ms)) throw new RangeError(`${name} is no time: ${value}`);
  return ms;
}
