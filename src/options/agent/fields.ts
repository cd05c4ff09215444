import type { Field } from '../field.ts';

/** Settings of the agent itself: the kubelet has them as flags only, or not at all. */
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

/** From all to nothing. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** How lines of the log look: words for people, or JSON. */
export type LogFormat = 'text' | 'json';

/** `auto` is the live table on a terminal and plain lines elsewhere. */
export type Output = 'auto' | 'table' | 'plain' | 'json';

/** A setting that comes from a flag or the environment, never from the file. */
export interface AgentField extends Field {
  /** The variable that sets it where the flag does not. */
  readonly env?: string;
  /** Its only values. */
  readonly values?: readonly string[];
}

/** Every setting of the agent: the source of its flags and of docs/options.md. `nodeName` is worked out. */
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
      'Folder of drop-ins: `*.conf` files of KubeletConfiguration, in the order of their names, over the file.',
  },
  kubeconfig: {
    type: 'string',
    flag: 'kubeconfig',
    env: 'KUBECONFIG',
    about:
      'How `podtender run` reaches the API server; without it with the credentials of the pod that it runs in.',
  },
  bootstrapKubeconfig: {
    type: 'string',
    flag: 'bootstrap-kubeconfig',
    about: 'Credentials with which to ask for the first client certificate.',
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
    about: 'Directory of certificates; pki in rootDir when only that is set.',
  },
  dataDir: {
    type: 'string',
    flag: 'data-dir',
    env: 'PODTENDER_DATA_DIR',
    about: 'Where state is kept; without it a folder of the system or the user.',
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
    allowed: 'process, memory, cri, eci, a file such as ./provider.mjs, or the name of a package',
    about:
      'What runs the pods: local processes, a simulation, a container runtime, or a provider of your own.',
  },
  logLevel: {
    type: 'string',
    default: 'warn',
    flag: 'log-level',
    allowed: 'debug, info, warn, error, silent',
    values: ['debug', 'info', 'warn', 'error', 'silent'],
    about: 'What is logged; --v of 2 and 3 means info at least, of 4 and more debug.',
  },
  logFormat: {
    type: 'string',
    default: 'text',
    flag: 'log-format',
    allowed: 'text, json',
    values: ['text', 'json'],
    about:
      'Form of the log: lines in words, or one JSON object a line; it wins over the kubelet’s `logging.format`.',
  },
  output: {
    type: 'string',
    default: 'auto',
    flag: 'output',
    allowed: 'auto, table, plain, json',
    values: ['auto', 'table', 'plain', 'json'],
    about: 'Form of what is printed; auto: a table on a terminal, lines elsewhere.',
  },
  leaveRunning: {
    type: 'bool',
    default: false,
    flag: 'leave-running',
    about: 'Containers go on when `podtender up` ends.',
  },
  keepLastGoodManifest: {
    type: 'bool',
    default: false,
    flag: 'keep-last-good-manifest',
    about: 'A manifest that turns bad leaves its pod running. The kubelet kills the pod.',
  },
  shutdownByLogindOnly: {
    type: 'bool',
    default: false,
    flag: 'shutdown-by-logind-only',
    about:
      'Only systemd-logind itself can announce a shutdown. The kubelet believes anybody on the system bus.',
  },
  imageCredentialProviderConfig: {
    type: 'string',
    flag: 'image-credential-provider-config',
    about: 'CredentialProviderConfig file, or folder of such files: the plug-ins that give pull credentials.',
  },
  imageCredentialProviderBinDir: {
    type: 'string',
    flag: 'image-credential-provider-bin-dir',
    about: 'Folder of those plug-ins; without it, or without their settings, there are none.',
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
      'A cloud controller finishes the Node: it is tainted until then, and its addresses are its own to tell.',
  },
  maximumDeadContainers: {
    type: 'int32',
    default: -1,
    flag: 'maximum-dead-containers',
    allowed: 'below 0: any number',
    about: 'Dead instances of containers that stay on the node.',
  },
  maximumDeadContainersPerContainer: {
    type: 'int32',
    default: 1,
    flag: 'maximum-dead-containers-per-container',
    allowed: 'below 0: any number',
    about: 'Dead instances that stay of each container.',
  },
  minimumContainerTtlDuration: {
    type: 'duration',
    default: '0s',
    flag: 'minimum-container-ttl-duration',
    allowed: '0s and more',
    about: 'A dead container younger than this stays.',
  },
  maxParallelStarts: {
    type: 'int32',
    default: 0,
    flag: 'max-parallel-starts',
    allowed: '0: three for each processor, 4 at least; below 0: any number, as the kubelet',
    about:
      'Calls at one time that start pods in the container runtime, so that pods of a burst are ready one after the other.',
  },
  exitPolicy: {
    type: 'string',
    default: 'keep',
    flag: 'exit-policy',
    allowed: 'keep, notReady, cordon, delete',
    values: ['keep', 'notReady', 'cordon', 'delete'],
    about:
      'What becomes of the Node when the agent is told to end: it stays as it is, is told not to be ready, takes no new pods, or is deleted, which a node’s own credentials do not allow.',
  },
  registerAgain: {
    type: 'bool',
    default: false,
    flag: 'register-again',
    about: 'A Node that somebody deletes is made anew. The kubelet waits for its next start.',
  },
};
