import { defaultPullPolicy } from '../image-reference.ts';
import {
  compareQuantities,
  formatQuantity,
  roundUpQuantity,
  tryParseQuantity,
} from '../resources/quantity.ts';
import type { Container, EphemeralContainer, Probe, ResourceRequirements } from '../types.ts';
import { withFieldVersion } from './default-volume.ts';
import { orElse } from './shared.ts';

type Port = NonNullable<Container['ports']>[number];
type EnvVar = NonNullable<Container['env']>[number];
type Lifecycle = NonNullable<Container['lifecycle']>;
type Handler = NonNullable<Lifecycle['preStop']>;
type HttpGet = NonNullable<Probe['httpGet']>;

/** Context of a container's defaults. */
export interface ContainerContext {
  readonly hostNetwork: boolean;
  /** Requests default to limits; false for ephemeral containers. */
  readonly requestsFromLimits: boolean;
}

/** Sets the API defaults of a container (Kubernetes `SetDefaults_Container` and its parts). */
export function defaultContainer<T extends Container | EphemeralContainer>(
  container: T,
  context: ContainerContext,
): T {
  const { livenessProbe, readinessProbe, startupProbe, lifecycle, ports, env } = container;
  return {
    ...container,
    resources: defaultResources(container.resources ?? {}, context.requestsFromLimits),
    ...(ports && { ports: ports.map((port) => defaultPort(port, context.hostNetwork)) }),
    ...(env && { env: env.map(defaultEnv) }),
    ...(livenessProbe && { livenessProbe: defaultProbe(livenessProbe) }),
    ...(readinessProbe && { readinessProbe: defaultProbe(readinessProbe) }),
    ...(startupProbe && { startupProbe: defaultProbe(startupProbe) }),
    ...(lifecycle && { lifecycle: defaultLifecycle(lifecycle) }),
    ...(container.securityContext && {
      securityContext: { ...container.securityContext },
    }),
    terminationMessagePath: orElse(container.terminationMessagePath, '/dev/termination-log'),
    terminationMessagePolicy: orElse(container.terminationMessagePolicy, 'File'),
    imagePullPolicy: orElse(container.imagePullPolicy, defaultPullPolicy(container.image ?? '')),
  };
}

const positive = (value: number | undefined, fallback: number): number =>
  value === undefined || value === 0 ? fallback : value;

function defaultPort(port: Port, hostNetwork: boolean): Port {
  const hostPort = hostNetwork && (port.hostPort ?? 0) === 0 ? port.containerPort : port.hostPort;
  return {
    ...port,
    ...(hostPort !== undefined && hostPort !== 0 && { hostPort }),
    protocol: orElse(port.protocol, 'TCP'),
  };
}

const defaultEnv = (env: EnvVar): EnvVar =>
  env.valueFrom ? { ...env, valueFrom: withFieldVersion(env.valueFrom) } : env;

function defaultProbe(probe: Probe): Probe {
  return {
    ...probe,
    ...(probe.httpGet && { httpGet: defaultHttpGet(probe.httpGet) }),
    ...(probe.grpc && { grpc: { ...probe.grpc, service: probe.grpc.service ?? '' } }),
    timeoutSeconds: positive(probe.timeoutSeconds, 1),
    periodSeconds: positive(probe.periodSeconds, 10),
    successThreshold: positive(probe.successThreshold, 1),
    failureThreshold: positive(probe.failureThreshold, 3),
  };
}

const defaultHttpGet = (http: HttpGet): HttpGet => ({
  ...http,
  path: orElse(http.path, '/'),
  scheme: orElse(http.scheme, 'HTTP'),
});

const defaultHandler = (handler: Handler): Handler =>
  handler.httpGet ? { ...handler, httpGet: defaultHttpGet(handler.httpGet) } : handler;

const defaultLifecycle = (lifecycle: Lifecycle): Lifecycle => ({
  ...lifecycle,
  ...(lifecycle.postStart && { postStart: defaultHandler(lifecycle.postStart) }),
  ...(lifecycle.preStop && { preStop: defaultHandler(lifecycle.preStop) }),
});

/** Rounds quantities up to thousandths in canonical form; a missing request defaults to the limit. */
export function defaultResources(
  resources: ResourceRequirements,
  requestsFromLimits: boolean,
): ResourceRequirements {
  const limits = canonicalResources(resources.limits);
  const requests = canonicalResources(resources.requests);
  const filled = requestsFromLimits && limits ? { ...limits, ...requests } : requests;
  return {
    ...resources,
    ...(limits && { limits }),
    ...(filled && Object.keys(filled).length > 0 && { requests: filled }),
  };
}

/** Returns a resource list with each quantity rounded up to a thousandth in canonical form; invalid quantities stay unchanged. */
export function canonicalResources(
  list: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  if (!list) return undefined;
  return Object.fromEntries(Object.entries(list).map(([name, amount]) => [name, toMilli(amount)]));
}

function toMilli(text: string): string {
  const quantity = tryParseQuantity(text);
  if (typeof quantity === 'string') return text;
  const [rounded] = roundUpQuantity(quantity, -3);
  return formatQuantity(compareQuantities(rounded, quantity) === 0 ? quantity : rounded);
}
