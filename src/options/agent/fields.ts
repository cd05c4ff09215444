import type { Field } from '../field.ts';

/** Settings of the agent itself: the kubelet has them only as flags, or not at all. */
export interface AgentSettings {
  /** Name of the Node: `hostnameOverride`, or the machine's name in lower case. */
  readonly nodeName: string;
  readonly hostnameOverride?: string;
  readonly config?: string;
  readonly configDir?: string;
  readonly kubeconfig?: string;
  readonly bootstrapKubeconfig?: string;
  readonly rootDir: string;
  readonly certDir: string;
  readonly dataDir?: string;
  readonly nodeIp: readonly string[];
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly provider: string;
  readonly ociIsolation: string;
  readonly ociRegistryConfig?: string;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly output: Output;
  readonly leaveRunning: boolean;
  readonly keepLastGoodManifest: boolean;
  readonly shutdownByLogindOnly: boolean;
  readonly imageCredentialProviderConfig?: string;
  readonly imageCredentialProviderBinDir?: string;
  readonly runtimeCgroups?: string;
  readonly cloudProvider: string;
  readonly maximumDeadContainers: number;
  readonly maximumDeadContainersPerContainer: number;
  readonly minimumContainerTtlDuration: string;
  readonly maxParallelStarts: number;
  readonly exitPolicy: 'keep' | 'notReady' | 'cordon' | 'delete';
  readonly registerAgain: boolean;
}

/** Log level, from everything to nothing. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Log format: readable text, or JSON. */
export type LogFormat = 'text' | 'json';

/** Output format; `auto` is the live table on a terminal and plain lines elsewhere. */
export type Output = 'auto' | 'table' | 'plain' | 'json';

/** A setting that comes from a flag or the environment, never from the file. */
export interface AgentField extends Field {
  /** The environment variable that sets it when the flag does not. */
  readonly env?: string;
  /** The allowed values. */
  readonly values?: readonly string[];
}

/** Every setting of the agent: the source of its flags and of docs/options.md. `nodeName` is computed. */
export const agentFields: Readonly<Record<Exclude<keyof AgentSettings, 'nodeName'>, AgentField>> = {
  hostnameOverride: {
    type: 'string',
    flag: 'hostname-override',
    env: 'NODE_NAME',
    allowed: 'a DNS-1123 subdomain',
    about: 'Name of the Node instead of the name of the machine.',
  },
  config: { type: 'string', flag: 'config', about: 'File of KubeletConfiguration (YAML or JSON).' },
  configDir: {
    type: 'string',
    flag: 'config-dir',
    about:
      'Directory of drop-ins: `*.conf` files of KubeletConfiguration, applied over the file in the order of their names.',
  },
  kubeconfig: {
    type: 'string',
    flag: 'kubeconfig',
    env: 'KUBECONFIG',
    about:
      'Kubeconfig with which `podtender run` connects to the API server; default: the service account of its own pod.',
  },
  bootstrapKubeconfig: {
    type: 'string',
    flag: 'bootstrap-kubeconfig',
    about: 'Kubeconfig used to request the first client certificate.',
  },
  rootDir: {
    type: 'string',
    default: '/var/lib/kubelet',
    flag: 'root-dir',
    about: 'Directory of volumes and checkpoints.',
  },
  certDir: {
    type: 'string',
    default: '/var/lib/kubelet/pki',
    flag: 'cert-dir',
    about: 'Directory of certificates; default: pki in rootDir, if that is set.',
  },
  dataDir: {
    type: 'string',
    flag: 'data-dir',
    env: 'PODTENDER_DATA_DIR',
    about: 'Directory of state; default: a directory of the system or the user.',
  },
  nodeIp: {
    type: '[]string',
    default: [],
    flag: 'node-ip',
    allowed: 'one address, or one of each family',
    about: 'Addresses of the Node.',
  },
  nodeLabels: {
    type: 'map[string]string',
    default: {},
    flag: 'node-labels',
    allowed: 'key=value,…',
    about: 'Labels of the Node at registration.',
  },
  provider: {
    type: 'string',
    default: 'process',
    flag: 'provider',
    allowed:
      'process, oci, memory, cri, eci, kubernetes, a file such as ./provider.mjs, or the name of a package',
    about:
      'What runs the pods: local processes, images without a runtime, a simulation, a container runtime, a cloud, another cluster, or a provider of your own.',
  },
  ociIsolation: {
    type: 'string',
    default: 'auto',
    flag: 'oci-isolation',
    allowed: 'auto, namespaces, bubblewrap, chroot, proot, none',
    values: ['auto', 'namespaces', 'bubblewrap', 'chroot', 'proot', 'none'],
    about:
      'How the containers of `--provider oci` are isolated; auto is the best that the machine allows, never none.',
  },
  ociRegistryConfig: {
    type: 'string',
    flag: 'oci-registry-config',
    allowed: 'a directory with HOST/hosts.toml',
    about:
      'Mirrors, certificates and headers of registries for `--provider oci`, in the format of containerd’s certs.d.',
  },
  logLevel: {
    type: 'string',
    default: 'warn',
    flag: 'log-level',
    allowed: 'debug, info, warn, error, silent',
    values: ['debug', 'info', 'warn', 'error', 'silent'],
    about: 'Log level; --v=2 and 3 mean at least info, --v=4 and higher debug.',
  },
  logFormat: {
    type: 'string',
    default: 'text',
    flag: 'log-format',
    allowed: 'text, json',
    values: ['text', 'json'],
    about:
      'Log format: text lines, or one JSON object per line; takes precedence over the kubelet’s `logging.format`.',
  },
  output: {
    type: 'string',
    default: 'auto',
    flag: 'output',
    allowed: 'auto, table, plain, json',
    values: ['auto', 'table', 'plain', 'json'],
    about: 'Output format; auto: a table on a terminal, lines elsewhere.',
  },
  leaveRunning: {
    type: 'bool',
    default: false,
    flag: 'leave-running',
    about: 'Leave containers running when `podtender up` ends.',
  },
  keepLastGoodManifest: {
    type: 'bool',
    default: false,
    flag: 'keep-last-good-manifest',
    about: 'Leave a pod running when its manifest becomes invalid. The kubelet kills the pod.',
  },
  shutdownByLogindOnly: {
    type: 'bool',
    default: false,
    flag: 'shutdown-by-logind-only',
    about:
      'Accept shutdown signals only from systemd-logind itself. The kubelet accepts them from any sender on the system bus.',
  },
  imageCredentialProviderConfig: {
    type: 'string',
    flag: 'image-credential-provider-config',
    about:
      'CredentialProviderConfig file, or directory of such files, for the plug-ins that supply pull credentials.',
  },
  imageCredentialProviderBinDir: {
    type: 'string',
    flag: 'image-credential-provider-bin-dir',
    about: 'Directory of these plug-ins; both settings are needed to use them.',
  },
  runtimeCgroups: {
    type: 'string',
    flag: 'runtime-cgroups',
    about: 'Cgroup of the container runtime, for statistics.',
  },
  cloudProvider: {
    type: 'string',
    default: '',
    flag: 'cloud-provider',
    allowed: 'external, or empty',
    values: ['external', ''],
    about:
      'A cloud controller manager initializes the Node: until then it is tainted; the controller sets its addresses.',
  },
  maximumDeadContainers: {
    type: 'int32',
    default: -1,
    flag: 'maximum-dead-containers',
    allowed: 'below 0: any number',
    about: 'Maximum number of dead containers to keep on the node.',
  },
  maximumDeadContainersPerContainer: {
    type: 'int32',
    default: 1,
    flag: 'maximum-dead-containers-per-container',
    allowed: 'below 0: any number',
    about: 'Maximum number of dead instances to keep per container.',
  },
  minimumContainerTtlDuration: {
    type: 'duration',
    default: '0s',
    flag: 'minimum-container-ttl-duration',
    allowed: '0s and more',
    about: 'Minimum age of a dead container before it may be removed.',
  },
  maxParallelStarts: {
    type: 'int32',
    default: 0,
    flag: 'max-parallel-starts',
    allowed: '0: three for each processor, 4 at least; below 0: any number, as the kubelet',
    about:
      'Maximum number of concurrent pod starts in the container runtime, so that pods of a burst become ready one after the other.',
  },
  exitPolicy: {
    type: 'string',
    default: 'keep',
    flag: 'exit-policy',
    allowed: 'keep, notReady, cordon, delete',
    values: ['keep', 'notReady', 'cordon', 'delete'],
    about:
      'What happens to the Node when the agent is stopped: it is left as it is, marked not ready, cordoned, or deleted, which a node’s own credentials do not allow.',
  },
  registerAgain: {
    type: 'bool',
    default: false,
    flag: 'register-again',
    about: 'Register the Node again when it is deleted. The kubelet does so only at its next start.',
  },
};
