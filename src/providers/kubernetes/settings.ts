import { Ajv, type ErrorObject, type SchemaObject } from 'ajv';
import { AgentError } from '../../base/errors.ts';
import type { PodSpec, Toleration } from '../../kube/types.ts';

/** DNS settings of backing pods. */
export interface BackingDns {
  /** Pods use the name servers, search domains and options of this node's cluster. Default: those of the backing cluster. */
  readonly useNode?: boolean;
  /** The dnsPolicy of all backing pods. Default: the pod's own. `None` needs `nameservers`. */
  readonly policy?: 'ClusterFirst' | 'ClusterFirstWithHostNet' | 'Default' | 'None';
  /** Added to those of the pod. */
  readonly nameservers?: readonly string[];
  readonly searches?: readonly string[];
  readonly options?: readonly { readonly name: string; readonly value?: string }[];
}

/** The lease that an agent holds while it acts, so that of several agents with one node name only one does. */
export interface BackingElection {
  /** The namespace of the lease in the backing cluster. Default: `namespace`, or else that of the kubeconfig. */
  readonly namespace?: string;
  /** Default `podtender-NODE`. */
  readonly leaseName?: string;
  /** Seconds that another agent waits after the last renewal. Default 15. */
  readonly leaseDurationSeconds?: number;
}

/** The settings of the kubernetes provider (`--provider-config`). One of `namespace`, `namespaces` and `namespacePrefix` is required. */
export interface KubernetesSettings {
  /** The kubeconfig of the backing cluster. Default: the service account of the agent's own pod. */
  readonly kubeconfig?: string;
  readonly context?: string;
  /** The name of this node's cluster in the labels of backing objects. Default `default`. */
  readonly clusterName?: string;
  /** The backing namespace of all pods whose namespace `namespaces` does not name. */
  readonly namespace?: string;
  /** Backing namespaces by the namespace of the pod. */
  readonly namespaces?: Readonly<Record<string, string>>;
  /** A pod of namespace NS runs in namespace PREFIX + NS. */
  readonly namespacePrefix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: NonNullable<PodSpec['affinity']>;
  readonly tolerations?: readonly Toleration[];
  /** The runtime class of pods that `runtimeClasses` does not map. */
  readonly runtimeClassName?: string;
  /** Runtime classes of the backing cluster by the pod's own. */
  readonly runtimeClasses?: Readonly<Record<string, string>>;
  readonly priorityClassName?: string;
  readonly schedulerName?: string;
  /** The service account of backing pods; its token is not mounted. */
  readonly serviceAccountName?: string;
  /** Pull secrets of the backing namespace, in addition to the pod's own. */
  readonly imagePullSecrets?: readonly string[];
  readonly dns?: BackingDns;
  /** Kinds of volumes that are passed on as they are. Default: `emptyDir`, `image`, `nfs`. */
  readonly passedVolumes?: readonly string[];
  /** The capacity of the node. Default: cpu 1000, memory 4Ti, pods 1000, ephemeral-storage 40Ti. */
  readonly capacity?: Readonly<Record<string, string>>;
  readonly leaderElection?: boolean | BackingElection;
  /** Calls per second to the backing cluster, and at once. Defaults 50 and 100. */
  readonly qps?: number;
  readonly burst?: number;
}

const text: SchemaObject = { type: 'string', minLength: 1 };
const texts: SchemaObject = { type: 'array', items: text };
const textMap: SchemaObject = { type: 'object', additionalProperties: { type: 'string' } };
const namespace: SchemaObject = { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', maxLength: 63 };
const positive: SchemaObject = { type: 'number', exclusiveMinimum: 0 };
const closed = (
  properties: Record<string, SchemaObject>,
  required: readonly string[] = [],
): SchemaObject => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required: [...required],
});

const properties: Readonly<Record<keyof KubernetesSettings, SchemaObject>> = {
  kubeconfig: text,
  context: text,
  clusterName: text,
  namespace,
  namespaces: { type: 'object', additionalProperties: namespace, minProperties: 1 },
  namespacePrefix: { type: 'string', pattern: '^[a-z0-9][-a-z0-9]*$', maxLength: 40 },
  labels: textMap,
  annotations: textMap,
  nodeSelector: textMap,
  affinity: closed({
    nodeAffinity: { type: 'object' },
    podAffinity: { type: 'object' },
    podAntiAffinity: { type: 'object' },
  }),
  tolerations: {
    type: 'array',
    items: closed({
      key: text,
      operator: { enum: ['Exists', 'Equal', 'Lt', 'Gt'] },
      value: { type: 'string' },
      effect: { enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
      tolerationSeconds: { type: 'integer' },
    }),
  },
  runtimeClassName: text,
  runtimeClasses: textMap,
  priorityClassName: text,
  schedulerName: text,
  serviceAccountName: text,
  imagePullSecrets: texts,
  dns: closed({
    useNode: { type: 'boolean' },
    policy: { enum: ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'] },
    nameservers: texts,
    searches: texts,
    options: { type: 'array', items: closed({ name: text, value: { type: 'string' } }, ['name']) },
  }),
  passedVolumes: texts,
  capacity: textMap,
  leaderElection: {
    anyOf: [
      { type: 'boolean' },
      closed({ namespace, leaseName: text, leaseDurationSeconds: { type: 'number', minimum: 3 } }),
    ],
  },
  qps: positive,
  burst: { type: 'integer', minimum: 1 },
};

/**
 * Checks the settings of the kubernetes provider.
 *
 * @param where the place of the settings in error messages, such as `--provider-config backing.yaml`
 * @throws {AgentError} `invalid_argument`, naming the setting that is wrong and what would be right
 */
export function kubernetesSettings(value: unknown, where = 'kubernetes settings'): KubernetesSettings {
  const ajv = new Ajv({ allowUnionTypes: true });
  if (!ajv.validate(closed(properties), value))
    throw new AgentError('invalid_argument', `${where}${faultOf(ajv.errors ?? [])}`);
  const settings = value as KubernetesSettings;
  const { namespace: all, namespaces, namespacePrefix } = settings;
  if (all === undefined && namespaces === undefined && namespacePrefix === undefined)
    throw new AgentError(
      'invalid_argument',
      `${where}: says nowhere in which namespaces pods run: set namespace, namespaces or namespacePrefix, such as "namespace: podtender"`,
    );
  if (namespacePrefix !== undefined && all !== undefined)
    throw new AgentError(
      'invalid_argument',
      `${where}: has both namespace and namespacePrefix: leave one out`,
    );
  checkDns(settings.dns ?? {}, where);
  return settings;
}

function checkDns({ useNode = false, policy, nameservers = [] }: BackingDns, where: string): void {
  if (useNode && policy !== undefined)
    throw new AgentError('invalid_argument', `${where}: has both dns.useNode and dns.policy: leave one out`);
  if (policy === 'None' && nameservers.length === 0)
    throw new AgentError('invalid_argument', `${where}: dns.policy None needs dns.nameservers`);
}

function faultOf(errors: readonly ErrorObject[]): string {
  const error = errors.find(({ keyword }) => keyword !== 'anyOf') ?? errors[0];
  if (!error) return ': is invalid';
  const path = error.instancePath.replace(/\/(\d+)/g, '[$1]').replaceAll('/', '.');
  if (error.keyword === 'additionalProperties') {
    const { additionalProperty } = error.params as { readonly additionalProperty: string };
    const hint = path === '' ? `; there are: ${Object.keys(properties).join(', ')}` : '';
    return `: ${path}.${additionalProperty}`.replace(': .', ': ') + ` is no setting${hint}`;
  }
  const allowed = (error.params as { readonly allowedValues?: readonly unknown[] }).allowedValues;
  return `: ${path.slice(1) || 'the settings'} ${error.message ?? 'is invalid'}${allowed ? `: ${allowed.join(', ')}` : ''}`;
}
