import { tableOf } from '../../base/own.ts';
import type { Container, Pod, Probe } from '../types.ts';
import { type Faults, forbidden, invalid, invalidEach, required, unsupported } from './field-error.ts';
import { httpHeaderNameRule } from './name-rules.ts';
import { nonNegative, portNumber, portNumOrName } from './shared.ts';

type Handler = Partial<Pick<Probe, 'exec' | 'grpc' | 'httpGet' | 'tcpSocket'>> & {
  readonly sleep?: { readonly seconds?: number };
};
type Lifecycle = NonNullable<Container['lifecycle']>;

const stopSignals: Readonly<Record<string, readonly string[]>> = tableOf({
  windows: ['SIGKILL', 'SIGTERM'],
  linux: [
    ...[
      'SIGABRT',
      'SIGALRM',
      'SIGBUS',
      'SIGCHLD',
      'SIGCLD',
      'SIGCONT',
      'SIGFPE',
      'SIGHUP',
      'SIGILL',
      'SIGINT',
    ],
    ...['SIGIO', 'SIGIOT', 'SIGKILL', 'SIGPIPE', 'SIGPOLL', 'SIGPROF', 'SIGPWR', 'SIGQUIT', 'SIGRTMAX'],
    ...Array.from({ length: 14 }, (_, i) => `SIGRTMAX-${i + 1}`),
    'SIGRTMIN',
    ...Array.from({ length: 15 }, (_, i) => `SIGRTMIN+${i + 1}`),
    ...['SIGSEGV', 'SIGSTKFLT', 'SIGSTOP', 'SIGSYS', 'SIGTERM', 'SIGTRAP', 'SIGTSTP', 'SIGTTIN', 'SIGTTOU'],
    ...['SIGURG', 'SIGUSR1', 'SIGUSR2', 'SIGVTALRM', 'SIGWINCH', 'SIGXCPU', 'SIGXFSZ'],
  ].sort(),
});

/** Validates lifecycle hooks and the stop signal of a container. */
export function* validateLifecycle(
  field: string,
  lifecycle: Lifecycle,
  graceSeconds: number | undefined,
  os: NonNullable<Pod['spec']>['os'],
): Faults {
  const { postStart, preStop, stopSignal } = lifecycle;
  if (postStart) yield* handler(`${field}.postStart`, postStart, graceSeconds);
  if (preStop) yield* handler(`${field}.preStop`, preStop, graceSeconds);
  if (stopSignal === undefined) return;
  const validSignals = stopSignals[os?.name ?? ''];
  if (!os) yield forbidden(`${field}.stopSignal`, 'may not be set for containers with empty `spec.os.name`');
  else if (validSignals && !validSignals.includes(stopSignal))
    yield unsupported(`${field}.stopSignal`, stopSignal, validSignals);
}

/** Validates the three probes of a container. */
export function* validateProbes(field: string, container: Container): Faults {
  const { livenessProbe, readinessProbe, startupProbe } = container;
  if (livenessProbe) yield* onceSuccessful(`${field}.livenessProbe`, livenessProbe);
  if (readinessProbe) yield* readiness(`${field}.readinessProbe`, readinessProbe);
  if (startupProbe) yield* onceSuccessful(`${field}.startupProbe`, startupProbe);
}

/** Checks that liveness and startup probes have successThreshold 1. */
function* onceSuccessful(field: string, probe: Probe): Faults {
  yield* validateProbe(field, probe);
  if ((probe.successThreshold ?? 0) !== 1)
    yield invalid(`${field}.successThreshold`, probe.successThreshold ?? 0, 'must be 1');
}

function* readiness(field: string, probe: Probe): Faults {
  yield* validateProbe(field, probe);
  if (probe.terminationGracePeriodSeconds !== undefined)
    yield invalid(
      `${field}.terminationGracePeriodSeconds`,
      probe.terminationGracePeriodSeconds,
      'must not be set for readinessProbes',
    );
}

const spans = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
] as const;

function* validateProbe(field: string, probe: Probe): Faults {
  yield* handler(field, probe, undefined);
  for (const span of spans) yield* nonNegative(`${field}.${span}`, probe[span]);
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0)
    yield invalid(`${field}.terminationGracePeriodSeconds`, grace, 'must be greater than 0');
}

/** Requires exactly one kind of handler; the first is validated, others are too many. */
function* handler(
  field: string,
  { exec, httpGet, tcpSocket, grpc, sleep }: Handler,
  graceSeconds?: number,
): Faults {
  const kinds: readonly (readonly [string, (() => Faults) | undefined])[] = [
    ['exec', exec && (() => execAction(`${field}.exec`, exec))],
    ['httpGet', httpGet && (() => httpAction(`${field}.httpGet`, httpGet))],
    ['tcpSocket', tcpSocket && (() => portNumOrName(`${field}.tcpSocket.port`, tcpSocket.port))],
    ['grpc', grpc && (() => portNumber(`${field}.grpc.port`, grpc.port))],
    ['sleep', sleep && (() => sleepAction(`${field}.sleep`, sleep.seconds ?? 0, graceSeconds))],
  ];
  let seen = 0;
  for (const [kind, validate] of kinds) {
    if (!validate) continue;
    if (seen++ > 0) yield forbidden(`${field}.${kind}`, 'may not specify more than 1 handler type');
    else yield* validate();
  }
  if (seen === 0) yield required(field, 'must specify a handler type');
}

function* execAction(field: string, exec: NonNullable<Handler['exec']>): Faults {
  if ((exec.command ?? []).length === 0) yield required(`${field}.command`);
}

function* httpAction(field: string, http: NonNullable<Handler['httpGet']>): Faults {
  if ((http.path ?? '') === '') yield required(`${field}.path`);
  yield* portNumOrName(`${field}.port`, http.port);
  if (!['HTTP', 'HTTPS'].includes(http.scheme ?? ''))
    yield unsupported(`${field}.scheme`, http.scheme ?? '', ['HTTP', 'HTTPS']);
  for (const { name = '' } of (http.httpHeaders ?? []) as readonly { readonly name?: string }[])
    yield* invalidEach(`${field}.httpHeaders`, name, httpHeaderNameRule(name));
}

function* sleepAction(field: string, seconds: number, graceSeconds = 0): Faults {
  if (seconds < 0 || seconds > graceSeconds)
    yield invalid(
      field,
      seconds,
      `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`,
    );
}
