import { AgentError, messageOf } from '../base/errors.ts';
import { makeEnvironment } from '../containers/envvars/environment.ts';
import { goQuote } from '../go/go-quote.ts';
import type { EventRecorder } from '../kube/events.ts';
import { nameOf, namespaceOf } from '../kube/names.ts';
import type { ConfigMap, Container, EphemeralContainer, Pod, Secret, Service } from '../kube/types.ts';
import * as reasons from './reasons.ts';

/** Where the environment of pods is resolved from. */
export interface EnvironmentDeps {
  /** Absent: there is none of that name. Rejects when it cannot be read. */
  configMap(namespace: string, name: string): Promise<ConfigMap | undefined>;
  /** As for {@link configMap}; values in base64. */
  secret(namespace: string, name: string): Promise<Secret | undefined>;
  /** All services that are known; absent: they were not listed yet. */
  services(): readonly Service[] | undefined;
  readonly recorder: EventRecorder;
  readonly nodeAllocatable: () => Readonly<Record<string, string>>;
  /** The node's own addresses, the main one first. */
  readonly hostIps: () => readonly string[];
}

/** What a container and an ephemeral one have in common. */
type Container_ = Container | EphemeralContainer;

/**
 * The pod with the environment of every container resolved as the kubelet does: `envFrom`, `env`, config maps, secrets, fields, resources,
 * service links and `$(VAR)`. `envFrom` is empty afterwards. What could not be found is reported by the thirteen events.
 *
 * @throws {AgentError} `not_found` naming what a container needs and is not there
 */
export async function resolveEnvironment(pod: Pod, deps: EnvironmentDeps): Promise<Pod> {
  const { spec } = pod;
  if (!spec) return pod;
  const objects = new References(pod, deps);
  const resolved = async <T extends Container_>(containers: readonly T[]): Promise<readonly T[]> => {
    const list: T[] = [];
    for (const container of containers) list.push(await objects.resolve(container));
    return list;
  };
  const { initContainers, containers, ephemeralContainers } = spec;
  return {
    ...pod,
    spec: {
      ...spec,
      ...(initContainers && { initContainers: await resolved(initContainers) }),
      containers: await resolved(containers),
      ...(ephemeralContainers && { ephemeralContainers: await resolved(ephemeralContainers) }),
    },
  };
}

type Kind = 'configmap' | 'secret';

interface Reference {
  readonly kind: Kind;
  readonly name: string;
  readonly optional: boolean;
  /** The variable and key of a single value; absent: all keys are wanted. */
  readonly variable?: string;
  readonly key?: string;
  readonly prefix?: string;
}

/** Events of each kind of object, mandatory and optional. */
const reasonsOf = {
  configmap: {
    notFound: [reasons.ReasonMandatoryConfigMapNotFound, reasons.ReasonOptionalConfigMapNotFound],
    unread: [reasons.ReasonFailedToReadMandatoryConfigMap, reasons.ReasonFailedToReadOptionalConfigMap],
    keyNotFound: [reasons.ReasonMandatoryConfigMapKeyNotFound, reasons.ReasonOptionalConfigMapKeyNotFound],
  },
  secret: {
    notFound: [reasons.ReasonMandatorySecretNotFound, reasons.ReasonOptionalSecretNotFound],
    unread: [reasons.ReasonFailedToReadMandatorySecret, reasons.ReasonFailedToReadOptionalSecret],
    keyNotFound: [reasons.ReasonMandatorySecretKeyNotFound, reasons.ReasonOptionalSecretKeyNotFound],
  },
} as const;

/** What may be a variable: as Kubernetes validates the names of variables. */
const variableName = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;
const isVariableName = (name: string): boolean =>
  variableName.test(name) && name !== '.' && name !== '..' && !name.startsWith('..');

/** The objects that one pod's containers refer to, each read once. */
class References {
  readonly #pod: Pod;
  readonly #deps: EnvironmentDeps;
  readonly #read = new Map<string, Promise<ConfigMap | Secret | undefined>>();
  /** What was read, for lookups that cannot wait. */
  readonly #objects = new Map<string, ConfigMap | Secret>();

  constructor(pod: Pod, deps: EnvironmentDeps) {
    this.#pod = pod;
    this.#deps = deps;
  }

  async resolve<T extends Container_>(container: T): Promise<T> {
    const skipped = new Set<string>();
    for (const reference of referencesOf(container))
      for (const name of await this.#check(reference)) skipped.add(name);
    const services = this.#deps.services();
    const pod = withLinks(this.#pod);
    const variables = makeEnvironment(pod, container, {
      configMap: (name) => this.#objects.get(`configmap/${name}`),
      secret: (name) => this.#objects.get(`secret/${name}`),
      services: services ?? [],
      servicesSynced: services !== undefined,
      nodeAllocatable: this.#deps.nodeAllocatable(),
      hostIps: this.#deps.hostIps(),
      podIps: pod.status?.podIPs?.map(({ ip }) => ip) ?? [],
    });
    return { ...container, envFrom: [], env: variables.filter(({ name }) => !skipped.has(name)) };
  }

  /** Resolves the references and reports those that are missing. @returns names that are no names of variables @throws if it is mandatory */
  async #check(reference: Reference): Promise<readonly string[]> {
    const { kind, name, key, optional } = reference;
    let object: ConfigMap | Secret | undefined;
    try {
      object = await this.#get(kind, name);
    } catch (reason) {
      this.#missing(reference, 'unread', `failed to read ${kind} ${goQuote(name)}`, messageOf(reason));
      return [];
    }
    if (!object) {
      this.#missing(reference, 'notFound', `${kind} ${goQuote(name)} not found`);
      return [];
    }
    if (key === undefined) return this.#invalidNames(reference, object);
    if (object.data && Object.hasOwn(object.data, key)) return [];
    const what = `key ${goQuote(key)} does not exist in ${kind} ${goQuote(name)}`;
    const text = optional ? `skipping optional envvar ${goQuote(reference.variable ?? '')}: ${what}` : what;
    this.#missing(reference, 'keyNotFound', text);
    return [];
  }

  async #get(kind: Kind, name: string): Promise<ConfigMap | Secret | undefined> {
    const id = `${kind}/${name}`;
    const namespace = namespaceOf(this.#pod);
    const reading =
      this.#read.get(id) ??
      (kind === 'secret' ? this.#deps.secret(namespace, name) : this.#deps.configMap(namespace, name));
    this.#read.set(id, reading);
    const object = await reading;
    if (object) this.#objects.set(id, object);
    return object;
  }

  #missing(
    { kind, optional }: Reference,
    what: keyof (typeof reasonsOf)[Kind],
    text: string,
    cause?: string,
  ): void {
    const [mandatory, optionally] = reasonsOf[kind][what];
    this.#deps.recorder.event(this.#pod, 'Warning', optional ? optionally : mandatory, text);
    if (!optional) throw new AgentError('not_found', cause === undefined ? text : `${text}: ${cause}`);
  }

  #invalidNames({ kind, name, prefix = '' }: Reference, object: ConfigMap | Secret): readonly string[] {
    const invalid = Object.keys(object.data ?? {})
      .map((key) => `${prefix}${key}`)
      .filter((key) => !isVariableName(key))
      .sort();
    if (invalid.length > 0)
      this.#deps.recorder.event(
        this.#pod,
        'Warning',
        reasons.ReasonInvalidEnvironmentVariableNames,
        `keys [${invalid.join(', ')}] from ${kind} ${namespaceOf(object) || namespaceOf(this.#pod)}/${nameOf(object) || name} were skipped since they are invalid as environment variable names`,
      );
    return invalid;
  }
}

/** In the order in which they are resolved. */
const referencesOf = ({ envFrom = [], env = [] }: Container_): readonly Reference[] => [
  ...envFrom.flatMap(({ configMapRef, secretRef, prefix = '' }) => {
    const ref = configMapRef ?? secretRef;
    return ref ? [{ kind: kindOf(configMapRef), ...nameOfRef(ref), prefix }] : [];
  }),
  ...env.flatMap(({ name: variable, valueFrom }) => {
    const ref = valueFrom?.configMapKeyRef ?? valueFrom?.secretKeyRef;
    if (!ref) return [];
    return [{ kind: kindOf(valueFrom?.configMapKeyRef), ...nameOfRef(ref), key: ref.key, variable }];
  }),
];

const kindOf = (configMapRef: object | undefined): Kind => (configMapRef ? 'configmap' : 'secret');
const nameOfRef = ({
  name = '',
  optional = false,
}: {
  readonly name?: string;
  readonly optional?: boolean;
}) => ({
  name,
  optional,
});

/** Pods that no API server has defaulted have service links. */
const withLinks = (pod: Pod): Pod =>
  !pod.spec || pod.spec.enableServiceLinks !== undefined
    ? pod
    : { ...pod, spec: { ...pod.spec, enableServiceLinks: true } };
